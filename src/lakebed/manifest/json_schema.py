"""JSON Schema of the files a user writes, for editors."""

from __future__ import annotations

from typing import Any, Literal

from lakebed.manifest.dataset import Dataset
from lakebed.manifest.project import ProjectFile

Which = Literal["project", "dataset"]


def json_schema(which: Which) -> dict[str, Any]:
    """The schema of `lakebed.yaml` ("project") or of `datasets/*.yaml` ("dataset")."""
    model, title = (ProjectFile, "lakebed.yaml") if which == "project" else (Dataset, "datasets/*.yaml")
    schema = model.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}
