"""The long series. A series is a module here with `run(seed, share)` that gives figures, as they come; its docstring says
what it shows."""
