"""Delta tables as lakebed uses them: state in, write set out, one guarded commit per table and batch."""
