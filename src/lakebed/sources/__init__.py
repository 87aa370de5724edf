"""Where rows come from: find what is new, decide the next batch, read it."""

from lakebed.sources.files import FileSource
from lakebed.sources.folders import Folder, FoundFile, LocalFolder, is_local, local_folder
from lakebed.sources.opening import landing_folder, open_source
from lakebed.sources.source import AnySource, Bookmarks, Input, Look, Rows, Source

__all__ = [
    "AnySource",
    "Bookmarks",
    "FileSource",
    "Folder",
    "FoundFile",
    "Input",
    "LocalFolder",
    "Look",
    "Rows",
    "Source",
    "is_local",
    "landing_folder",
    "local_folder",
    "open_source",
]
