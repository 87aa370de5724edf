"""Which files there are, and which are next. No Spark."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.sources.datasets import SNAPSHOT, dataset, put

from lakebed.errors import BatchError, ManifestError
from lakebed.manifest import Dataset
from lakebed.sources import FileSource, FoundFile, LocalFolder, local_folder
from lakebed.sources.batches import event_time, in_order
from lakebed.sources.batches import next_files as next_of_ordered

DATED: dict[str, Any] = {"files": "in/{day:%Y%m%d}.csv", "event_time": {"from": "path", "part": "day"}}


def find_files(root: Path, of: Dataset) -> list[FoundFile]:
    return FileSource(of, LocalFolder(root)).find()


def next_files(of: Dataset, files: list[FoundFile]) -> list[FoundFile]:
    return next_of_ordered(of, in_order(of, files))


def paths(files: list[FoundFile]) -> list[str]:
    return [file.path for file in files]


def test_files_that_fit_come_sorted(tmp_path: Path) -> None:
    for name in ("in/b.csv", "in/a.csv", "in/a.txt", "other/c.csv", "in/deep/d.csv"):
        put(tmp_path, name)
    assert paths(find_files(tmp_path, dataset())) == ["in/a.csv", "in/b.csv"]
    assert paths(find_files(tmp_path, dataset("{where}/{file}.csv"))) == [
        "in/a.csv",
        "in/b.csv",
        "other/c.csv",
    ]
    assert paths(find_files(tmp_path, dataset("in/{sub}/{file}.csv"))) == ["in/deep/d.csv"]


def test_a_file_is_known_by_path_size_and_time(tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv", "id\n1\n", modified=1_700_000_000.5)
    assert find_files(tmp_path, dataset()) == [file]
    assert (file.size, file.modified_ns) == (5, 1_700_000_000_500_000_000)


@pytest.mark.parametrize(
    "name",
    [
        *(".hidden.csv", "_SUCCESS.csv", "~$x.csv", "#x.csv#", "x.csv.tmp", "x.csv.part", "x.csv.TMP"),
        *("x.csv._COPYING_", "x.csv.filepart", "x.csv.crdownload", "x.csv.inprogress", "x.csv~"),
    ],
)
def test_unfinished_files_wait(tmp_path: Path, name: str) -> None:
    put(tmp_path, f"in/{name}")
    assert find_files(tmp_path, dataset("in/{file}")) == []


@pytest.mark.parametrize("folder", [".cache", "_temporary", "upload.tmp"])
def test_unfinished_folders_wait(tmp_path: Path, folder: str) -> None:
    put(tmp_path, f"in/{folder}/a.csv")
    assert find_files(tmp_path, dataset("in/{sub}/{file}.csv")) == []


def test_links_never_lead_out_of_the_landing_folder(tmp_path: Path) -> None:
    landing, secret = tmp_path / "landing", tmp_path / "secret"
    put(secret, "s.csv")
    inside = put(landing, "real/r.csv")
    (landing / "in").mkdir()
    (landing / "in" / "file_out.csv").symlink_to(secret / "s.csv")
    (landing / "in" / "file_up.csv").symlink_to(Path("..") / ".." / "secret" / "s.csv")
    (landing / "in" / "file_in.csv").symlink_to(landing / "real" / "r.csv")
    (landing / "in" / "broken.csv").symlink_to(landing / "nowhere.csv")
    (landing / "in" / "circle").symlink_to(landing / "in")
    (landing / "in" / "itself.csv").symlink_to(landing / "in" / "itself.csv")
    (landing / "in" / "through.csv").symlink_to(landing / "real" / "r.csv" / "x.csv")
    (landing / "in" / "folder_out").symlink_to(secret)
    (landing / "fixed").symlink_to(secret)
    assert find_files(landing, dataset()) == [FoundFile("in/file_in.csv", inside.size, inside.modified_ns)]
    assert find_files(landing, dataset("in/{sub}/{file}.csv")) == []
    assert find_files(landing, dataset("fixed/{file}.csv")) == []


def test_the_landing_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    put(tmp_path / "real", "in/a.csv")
    (tmp_path / "landing").symlink_to(tmp_path / "real")
    assert paths(find_files(tmp_path / "landing", dataset())) == ["in/a.csv"]


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "in" / "folder.csv").mkdir(parents=True)
    os.mkfifo(tmp_path / "in" / "pipe.csv")
    assert find_files(tmp_path, dataset()) == []


def test_a_missing_landing_folder_is_said(tmp_path: Path) -> None:
    assert find_files(tmp_path, dataset()) == []
    with pytest.raises(ManifestError) as caught:
        find_files(tmp_path / "nowhere", dataset())
    assert caught.value.code == "landing_missing"


def test_a_snapshot_is_one_file_in_order_of_its_time(tmp_path: Path) -> None:
    of = dataset("in/{name}_{day:%d%m%Y}.csv", event_time={"from": "path", "part": "day"}, feed=SNAPSHOT)
    for name in ("in/a_02022024.csv", "in/b_01022024.csv", "in/a_01022024.csv", "in/z_31122023.csv"):
        put(tmp_path, name)
    waiting, order = find_files(tmp_path, of), []
    while batch := next_files(of, waiting):
        order += paths(batch)
        waiting = [file for file in waiting if file not in batch]
    assert order == ["in/z_31122023.csv", "in/a_01022024.csv", "in/b_01022024.csv", "in/a_02022024.csv"]


def test_other_feeds_take_all_up_to_a_limit(tmp_path: Path) -> None:
    files = [put(tmp_path, f"in/{n}.csv") for n in range(5)]
    assert next_files(dataset(max_files=3), files) == files[:3]
    assert next_files(dataset(max_bytes=2 * files[0].size), files) == files[:2]
    assert next_files(dataset(max_bytes=1), files) == files[:1]
    assert next_files(dataset(), files) == files
    assert next_files(dataset(), []) == []


def test_a_snapshot_of_several_files_is_a_folder_or_a_time(tmp_path: Path) -> None:
    names = ["in/20240101/a.csv", "in/20240101/b.csv", "in/20240102/a.csv"]
    files = [put(tmp_path, name) for name in names]
    options: dict[str, Any] = {"event_time": {"from": "path", "part": "day"}, "feed": SNAPSHOT}
    by_folder = dataset("in/{day:%Y%m%d}/{n}.csv", snapshot_unit="folder", **options)
    assert paths(next_files(by_folder, files)) == names[:2]
    parts = [put(tmp_path, name) for name in ("x/1_20240102.csv", "x/2_20240101.csv", "x/1_20240101.csv")]
    by_time = dataset("x/{n}_{day:%Y%m%d}.csv", snapshot_unit="time", **options)
    assert paths(next_files(by_time, parts)) == ["x/1_20240101.csv", "x/2_20240101.csv"]


def test_files_wait_for_their_marker(tmp_path: Path) -> None:
    put(tmp_path, "in/a/1.csv")
    put(tmp_path, "in/b/1.csv")
    of = dataset("in/{folder}/{n}.csv", wait_for="_SUCCESS")
    assert find_files(tmp_path, of) == []
    put(tmp_path, "in/b/_SUCCESS")
    assert paths(find_files(tmp_path, of)) == ["in/b/1.csv"]


def test_names_that_nearly_fit_are_told(tmp_path: Path) -> None:
    put(tmp_path, "in/20240231.csv")
    put(tmp_path, "in/readme.txt")
    source = FileSource(dataset(**DATED), LocalFolder(tmp_path))
    assert source.find() == []
    assert source.remarks() == ["not taken: in/20240231.csv: day: '20240231' is no time of the format %Y%m%d"]


def test_G3_a_batch_has_one_event_time(tmp_path: Path) -> None:
    of = dataset("in/{day:%Y%m%d}_{n}.csv", event_time={"from": "path", "part": "day"})
    files = [put(tmp_path, f"in/{name}.csv") for name in ("20240102_a", "20240101_b", "20240101_a")]
    assert paths(next_files(of, files)) == ["in/20240101_a.csv", "in/20240101_b.csv"]


@pytest.mark.parametrize("kind", ["keep", "fail"])
def test_G9_one_file_at_a_time_where_a_missing_column_means_something(tmp_path: Path, kind: str) -> None:
    of = dataset(feed={"kind": "updates", "key": ["id"], "on_missing_column": kind})
    assert len(next_files(of, [put(tmp_path, f"in/{n}.csv") for n in range(3)])) == 1


def test_G3_event_time_from_the_path_the_file_or_nowhere(tmp_path: Path) -> None:
    file = put(tmp_path, "in/20240131.csv", modified=1_700_000_000.25)
    assert event_time(dataset(**DATED), file) == datetime(2024, 1, 31, tzinfo=UTC)
    from_file = dataset(event_time={"from": "file"})
    assert event_time(from_file, file) == datetime(2023, 11, 14, 22, 13, 20, 250_000, tzinfo=UTC)
    for of in (
        dataset(),
        dataset(event_time={"from": "system"}),
        dataset(event_time={"from": "column", "column": "t"}),
    ):
        assert event_time(of, file) is None


def test_G10_a_planned_file_must_be_as_it_was(tmp_path: Path) -> None:
    file = put(tmp_path, "in/a.csv", modified=1_700_000_000)
    source = FileSource(dataset(), LocalFolder(tmp_path))
    source.check([file])
    put(tmp_path, "in/a.csv", modified=1_700_000_001)
    with pytest.raises(BatchError, match="has changed") as caught:
        source.check([file])
    assert caught.value.code == "input_changed"
    (tmp_path / "in" / "a.csv").unlink()
    with pytest.raises(BatchError, match="is gone"):
        source.check([file])


def test_folders_and_addresses(tmp_path: Path) -> None:
    assert local_folder(str(tmp_path), setting="landing") == tmp_path
    assert local_folder("file:///some/a%20b", setting="landing") == Path("/some/a b")
    for address in ("s3a://bucket/raw", "file://elsewhere/raw"):
        with pytest.raises(ManifestError, match="folders of this machine"):
            local_folder(address, setting="landing")
