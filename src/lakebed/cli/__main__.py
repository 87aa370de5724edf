"""`python -m lakebed.cli`, for where the `lakebed` command is not on the path."""

from lakebed.cli import main

main()
