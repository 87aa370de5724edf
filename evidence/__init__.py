"""The long series. A series is a module here with `run(seed: int) -> list[Figure]`; its docstring says what it shows."""
