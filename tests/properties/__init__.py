"""Random histories: the engine against the oracle, thousands in one table."""
