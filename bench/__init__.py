"""Measurements. A workload is a module here with `run() -> Result`; its docstring says what it compares."""
