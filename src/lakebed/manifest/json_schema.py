"""JSON Schema of the files a user writes, for editors."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import TypeAdapter

from lakebed.manifest.dataset import Dataset
from lakebed.manifest.derived import Derived
from lakebed.manifest.project import ProjectFile

Which = Literal["project", "dataset"]
_TAGS = ("kind", "from")


def json_schema(which: Which) -> dict[str, Any]:
    """The schema of `lakebed.yaml` ("project") or of `datasets/*.yaml` ("dataset"), which describe an ingested dataset
    or a derived one."""
    models: Any = ProjectFile if which == "project" else Dataset | Derived
    title = "lakebed.yaml" if which == "project" else "datasets/*.yaml"
    schema = TypeAdapter(models).json_schema(by_alias=True, mode="validation")
    for form in schema.get("$defs", {}).values():
        # In Python a class has its kind; in a file it must be written.
        tags = [tag for tag in _TAGS if "const" in form.get("properties", {}).get(tag, {})]
        form["required"] = [*tags, *form.get("required", [])]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}
