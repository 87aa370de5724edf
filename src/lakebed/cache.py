"""The folder for what can be made again at any time: Delta's jars, the class archive, Spark's logs."""

from __future__ import annotations

import os
from pathlib import Path

from lakebed.errors import SetupError


def cache_folder(part: str) -> Path:
    """The folder of this part, made if need be: under LAKEBED_CACHE, else under lakebed/ in the user's cache folder."""
    own = os.environ.get("LAKEBED_CACHE")
    base = (
        Path(own or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "lakebed")).expanduser().absolute()
    )
    try:
        (base / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(base, error) from error
    return base / part


def not_writable(folder: Path, error: OSError) -> SetupError:
    """What to say when something cannot be kept there."""
    return SetupError(
        f"The cache folder {folder} cannot be written: {error}.",
        code="cache_not_writable",
        hint="set LAKEBED_CACHE to a folder that can be written",
    )
