"""D2: what a table's log tells, read as text: which commits changed data and where, and what is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakebed.tables.data_commits import TableLog, facts_in, tables_in

VECTOR = {"pathOrInlineDv": "u", "offset": 1}


def write(log: Path, version: int, *actions: dict[str, Any]) -> None:
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{version:020}.json").write_text("\n".join(json.dumps(action) for action in actions))


def meta(**physical: str) -> dict[str, Any]:
    """Partition columns with the names that the log has for them."""
    fields = [
        {"name": name, "metadata": {"delta.columnMapping.physicalName": inner}}
        for name, inner in physical.items()
    ]
    schema = json.dumps({"fields": fields})
    return {"metaData": {"id": "abc", "schemaString": schema, "partitionColumns": list(physical)}}


def file(kind: str, path: str, vector: Any = None, *, changes: bool = True, **values: str) -> dict[str, Any]:
    about = {"path": path, "partitionValues": values, "dataChange": changes}
    return {kind: {**about, **({"deletionVector": vector} if vector else {})}}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two partitions; then one row of the first is deleted by a vector; then both files are compacted into others."""
    folder = tmp_path / "db" / "t" / "_delta_log"
    write(folder, 0, meta(day="c1", country="c2"))
    write(folder, 1, file("add", "a", c1="mon", c2="de"), file("add", "b", c1="tue", c2=""))
    write(folder, 2, file("remove", "a", c1="mon", c2="de"), file("add", "a", VECTOR, c1="mon", c2="de"))
    write(
        folder,
        3,
        file("remove", "a", VECTOR, changes=False, c1="mon", c2="de"),
        file("add", "c", changes=False, c1="mon", c2="de"),
    )
    (folder / "00000000000000000003.checkpoint.parquet").touch()
    (folder / ".00000000000000000003.json.crc").touch()
    return folder


def opened(log: Path, *columns: str) -> TableLog:
    found = TableLog.of(log.parent, columns or None)
    assert found is not None
    return found


def test_a_commit_tells_the_partitions_it_touched_by_their_own_names(log: Path) -> None:
    commits = list(opened(log).commits())
    assert [[str(one) for one in commit.partitions] for commit in commits] == [
        [],
        ["day=mon/country=de", "day=tue/country=None"],
        ["day=mon/country=de"],
        [],
    ]
    assert [commit.rewrote for commit in commits] == [False, False, True, False]


def test_what_is_there_is_what_was_added_and_not_removed(log: Path) -> None:
    there = opened(log).present()
    assert there is not None
    assert {str(one) for one in there} == {"day=mon/country=de", "day=tue/country=None"}
    write(log, 4, file("remove", "b", c1="tue", c2=""))
    assert {str(one) for one in opened(log, "DAY").present() or ()} == {"day=mon"}


def test_a_log_tells_how_far_back_it_reaches(log: Path) -> None:
    whole = opened(log)
    assert (whole.newest, whole.table_id, whole.tells_all_after(-1)) == (3, "abc", True)
    (log / f"{0:020}.json").unlink()
    cut = opened(log)
    assert (cut.present(), cut.meta, cut.tells_all_after(0), cut.tells_all_after(-1)) == (
        None,
        None,
        True,
        False,
    )
    assert [cut.tells_all_after(version) for version in (3, 4)] == [True, False]
    (log / f"{2:020}.json").unlink()
    assert not opened(log).tells_all_after(0)


def test_a_folder_without_commits_is_no_table(tmp_path: Path) -> None:
    assert TableLog.of(tmp_path) is None
    (tmp_path / "_delta_log").mkdir()
    assert TableLog.of(tmp_path) is None


def test_tables_of_a_warehouse_by_name(log: Path, tmp_path: Path) -> None:
    (tmp_path / "db" / "with.dot" / "_delta_log").mkdir(parents=True)
    assert tables_in(tmp_path) == {"db.t": log.parent}
    assert tables_in(tmp_path / "nowhere") == {}


@pytest.mark.parametrize("text", [None, "", "no json", "[]", '{"other": 1}', '{"lakebed": 1}'])
def test_metadata_of_others_is_nothing_to_us(text: str | None) -> None:
    assert facts_in(text) == {}
