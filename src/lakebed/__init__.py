"""History for the data lake: feeds become Delta tables that tell the truth."""
