"""Files that only Spark can list and read. `file:///` and `viewfs://` stand for other file systems: no network is needed."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.sources.datasets import dataset, put

from lakebed.control import BatchPlan, Input
from lakebed.errors import BatchError, ManifestError, TableError
from lakebed.manifest import Project, Spark
from lakebed.runner import anything_new, recover, retry, run_project, skip, status
from lakebed.runner.plan_records import PlanRecords
from lakebed.runner.templates import filled_in
from lakebed.sources import FileSource
from lakebed.sources.formats import read_files
from lakebed.sources.remote_folder import RemoteFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = "in/we[i]rd {a} 100% ü+.csv"


def folder(root: Path, spark: SparkSession) -> RemoteFolder:
    return RemoteFolder(root.as_uri(), lambda: spark)


def test_files_are_found_as_in_a_folder_of_this_machine(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("in/b.csv", ODD, "in/_x.csv", "in/c.csv.tmp", "other/d.csv", "in/deep.part/e.csv"):
        put(tmp_path, name)
    source = FileSource(dataset("in/{file}.csv"), folder(tmp_path, spark))
    found = source.find()
    assert [(one.path, one.size) for one in found] == [("in/b.csv", 5), (ODD, 5)]
    assert found[0].modified_ns == (tmp_path / "in/b.csv").stat().st_mtime_ns // 10**6 * 10**6
    source.check(found)
    put(tmp_path, "in/b.csv", "id\n1\n2\n")
    with pytest.raises(BatchError, match=r"in/b\.csv has changed"):
        source.check(found)
    (tmp_path / "in/b.csv").unlink()
    with pytest.raises(BatchError, match=r"in/b\.csv is gone"):
        source.check(found)
    assert FileSource(dataset("nothing/{file}.csv"), folder(tmp_path, spark)).find() == []
    with pytest.raises(ManifestError, match="does not exist"):
        FileSource(dataset(), folder(tmp_path / "nowhere", spark)).find()


@pytest.mark.parametrize("marker", ["_SUCCESS", ".done", "READY"])
def test_a_folder_waits_for_its_marker(
    spark: SparkSession, elsewhere: Path, tmp_path: Path, marker: str
) -> None:
    home = elsewhere / tmp_path.name
    put(home, "in/a.csv")
    url = f"viewfs://elsewhere/files/{tmp_path.name}"
    waiting = FileSource(dataset(wait_for=marker), RemoteFolder(url, lambda: spark))
    assert waiting.find() == []
    put(home, f"in/{marker}", "")
    assert [one.path for one in waiting.find()] == ["in/a.csv"]


def test_headers_and_arrays_are_read_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    of = dataset("in/{file}", schema="id int, name string", options={"comment": "#"})
    texts = {
        "in/a.csv": b"\xef\xbb\xbf# made by hand\n\nNAME,id\nx,1\n",
        "in/b.csv.gz": gzip.compress(b'id,"na\nme"\n2,y\n'),
        "in/c.csv": b"",
    }
    files = [put(tmp_path, name, text) for name, text in texts.items()]
    rows = read_files(spark, of, folder(tmp_path, spark), files).frame.orderBy("_lb_position").collect()
    assert [(row["id"], row["name"]) for row in rows] == [(1, "x"), (2, None)]
    wide = dataset("in/{file}", schema="id int, name string", options={"encoding": "UTF-16", "sep": ";"})
    file = put(tmp_path, "in/d.csv", "name;id\r\nü;3\r\n".encode("utf-16"))
    [row] = read_files(spark, wide, folder(tmp_path, spark), [file]).frame.collect()
    assert (row["id"], row["name"]) == (3, "ü")
    array = dataset("in/{file}", format="json", schema="id int")
    file = put(tmp_path, "in/e.json", ' [{"id":4}, {"id":5}]')
    found = read_files(spark, array, folder(tmp_path, spark), [file]).frame.collect()
    assert [row["id"] for row in found] == [4, 5]


def test_a_whole_project_in_another_file_system(spark: SparkSession, elsewhere: Path, tmp_path: Path) -> None:
    """Runs, a failed batch, retry, skip, and a lost control store: as with folders of this machine."""
    of = dataset("in/{n}.csv", schema="id int", max_files=1, feed={"kind": "append", "on_bad_rows": "fail"})
    home, url = elsewhere / tmp_path.name, f"viewfs://elsewhere/files/{tmp_path.name}"
    project = Project(
        name="far",
        root=tmp_path,
        landing=f"{url}/landing",
        warehouse=f"{url}/warehouse",
        control="sqlite:///.lakebed/control.db",
        spark=Spark(),
        datasets=(of,),
    )
    landing, plans = home / "landing", home / "warehouse" / "demo" / "things__lakebed" / "batches"

    def run() -> list[str | None]:
        failed = run_project(project, spark=lambda: spark).failed
        return [one.error.code for one in failed if one.error]

    for name, text in {"1": "id\n1\n", "2": "id\nx\n", "3": "id\ny\n"}.items():
        put(landing, f"in/{name}.csv", text, modified=1_700_000_000)
    assert [one.waiting for one in status(project)] == [()]  # only Spark could look
    assert anything_new(project, spark=lambda: spark) == ["demo.things"]
    assert run() == ["bad_cast"]
    put(landing, "in/2.csv", "id\n2\n", modified=1_700_000_001)
    assert retry(project, "demo.things", spark=lambda: spark) == 2
    assert run() == ["bad_cast"]
    assert skip(project, "demo.things", spark=lambda: spark) == ("in/3.csv",)
    (tmp_path / ".lakebed" / "control.db").unlink()
    [found] = recover(project, spark=lambda: spark)
    assert (found.batches, found.applied) == (2, 2)
    assert run() == []
    rows = spark.read.format("delta").load(f"{project.warehouse}/demo/things").orderBy("offset").collect()
    assert [row["id"] for row in rows] == [1, 2]
    assert len(list(plans.glob("part-*.txt"))) == 6  # three kept, one dropped and kept again, one skipped
    assert anything_new(project, spark=lambda: spark) == []
    template = replace(project, datasets=(dataset("in/{n}.csv").model_copy(update={"name": "demo.n{n}"}),))
    filled, notes = filled_in(template, lambda: spark)
    assert ([one.name for one in filled.datasets], notes) == (["demo.n1", "demo.n2", "demo.n3"], [])
    nothing = replace(template, landing=f"{url}/not_there_yet")
    assert filled_in(nothing, lambda: spark)[0].datasets == ()


def test_plans_elsewhere_are_kept_once(spark: SparkSession, elsewhere: Path, tmp_path: Path) -> None:
    place = f"viewfs://elsewhere/files/{tmp_path.name}/t__lakebed/batches"
    first, other = (
        BatchPlan("d.t", 1, (Input(path, 1, 1),), datetime(2026, 1, 1, tzinfo=UTC)) for path in "ab"
    )
    PlanRecords(place, lambda: spark).keep(first)
    again = PlanRecords(place, lambda: spark)
    again.keep(first)
    assert list(again.after(0)) == [first]
    with pytest.raises(TableError, match="was planned before, with other inputs"):
        again.keep(other)
    again.drop(1)
    assert list(again.after(0)) == []
    again.keep(other)
    assert list(PlanRecords(place, lambda: spark).after(0)) == [other]
    broken = elsewhere / tmp_path.name / "t__lakebed" / "batches" / "part-broken.txt"
    broken.write_text("{\n")
    with pytest.raises(TableError, match="cannot be read"):
        list(PlanRecords(place, lambda: spark).after(0))
