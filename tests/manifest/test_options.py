"""Options of feeds and histories: what is refused, and with which sentence."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest

from lakebed.errors import OptionsError
from lakebed.manifest import (
    Append,
    Changes,
    Current,
    EventTimeColumn,
    InitialValidFrom,
    Ledger,
    Log,
    Snapshot,
    Updates,
    Versions,
    check_combination,
)
from lakebed.manifest.histories import FAR_END

BuildOptions = Callable[..., Any]


class TestRefused:
    @pytest.mark.parametrize(
        ("build", "options", "sentence"),
        [
            (Changes, {}, "'key' is missing"),
            (Changes, {"key": "id"}, "key: expected a list of column names, found the text 'id'"),
            (Changes, {"key": []}, "key: expected at least one column name, found an empty list"),
            (Changes, {"key": [1]}, "key: expected column names, found 1 in the list"),
            (Ledger, {"key": ["id", "ID"]}, "key: names the column 'ID' twice"),
            (Updates, {"key": ["id"], "order_by": ["t", "T"]}, "order_by: names the column 'T' twice"),
            (
                Updates,
                {"key": ["id"], "except_columns": ["ID"]},
                "key and except_columns both name the column 'id'",
            ),
            (Updates, {"key": ["id"], "ignore_nulls": "a"}, "ignore_nulls: expected true, false or a list"),
            (Updates, {"key": ["id"], "ignore_nulls": True, "present_columns": "c"}, "contradict each other"),
            (Updates, {"key": ["id"], "delete_when": "op = 'D'"}, "unknown name 'delete_when'"),
            (
                Changes,
                {"key": ["id"], "delete_when": " "},
                "delete_when: expected a text, found an empty one",
            ),
            (Changes, {"key": ["id"], "on_bad_rows": "drop"}, "on_bad_rows: expected quarantine | fail"),
            (Changes, {"key": ["id"], "event_time": 3}, "event_time: expected a column name"),
            (Changes, {"key": ["id"], "event_time": {"colum": "t"}}, "event_time: 'column' is missing"),
            (Changes, {"key": ["id"], "event_time": {"column": "t", "format": "%Q"}}, "'%Q' is no directive"),
            (
                Changes,
                {"key": ["id"], "event_time": {"column": "t", "format": "epoch"}},
                "nor one of epoch_s",
            ),
            (Append, {"on_missing_column": "keep"}, "on_missing_column: expected null | fail"),
            (
                Snapshot,
                {"key": ["id"], "max_delete_fraction": 1.5},
                "expected a number of at most 1, found 1.5",
            ),
            (Snapshot, {"key": ["id"], "max_delete_fraction": -0.1}, "expected a number of at least 0"),
            (
                Snapshot,
                {"key": ["id"], "max_delete_fraction": "0.2"},
                "expected a number, found the text '0.2'",
            ),
            (Snapshot, {"key": ["id"], "allow_empty": "yes"}, "allow_empty: expected true or false"),
            (Snapshot, {"key": ["id"], "order_by": ["t"]}, "unknown name 'order_by'"),
            (Snapshot, {"key": ["id"], "scope": []}, "scope: expected at least one column name"),
            (Snapshot, {"key": ["id"], "compare": ["a"], "except_columns": ["A"]}, "a column that is stored"),
            (
                Versions,
                {"track": ["a"], "track_except": ["b"]},
                "track and track_except contradict each other",
            ),
            (Versions, {"deletes": "remove"}, "deletes: expected close | flag | mark | ignore"),
            (Versions, {"flag": ["Y"]}, "flag: expected two different texts"),
            (Versions, {"flag": ["Y", "Y"]}, "flag: expected two different texts"),
            (Versions, {"initial_valid_from": "1900-13-01"}, "initial_valid_from: expected a date such as"),
            (
                Versions,
                {"initial_valid_from": {"at": "1900-01-01", "keys": "x"}},
                "keys: expected first_batch | all",
            ),
            (Versions, {"open_end": "soon"}, "open_end: expected a date such as"),
            (Versions, {"rename": {"valid": "x"}}, "rename: 'valid' is not one of the table's own columns"),
            (Log, {"rename": {"offset": "OP"}}, "two of the table's own columns would be called 'op'"),
            (Log, {"rename": {"offset": "a", "OFFSET": "b"}}, "rename: names one column twice"),
            (Current, {"rename": {"is_deleted": "gone"}}, "without `deletes: flag`"),
            (Current, {"deletes": "close"}, "deletes: expected remove | flag"),
        ],
    )
    def test_with_a_precise_sentence(
        self, build: BuildOptions, options: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(OptionsError) as caught:
            build(**options)
        assert caught.value.code == "invalid_options"
        assert caught.value.where == build.__name__
        assert sentence in caught.value.what

    def test_the_nearest_name_is_offered(self) -> None:
        with pytest.raises(OptionsError) as caught:
            Changes(key=["id"], delete_wen="op = 'D'")  # type: ignore[call-arg]
        assert caught.value.hint == "did you mean 'delete_when'?"

    def test_all_mistakes_at_once(self) -> None:
        with pytest.raises(OptionsError) as caught:
            Snapshot(key=[], allow_empty=1)  # type: ignore[arg-type]
        assert "key: " in caught.value.what
        assert "allow_empty: " in caught.value.what

    def test_a_value_that_looks_like_a_secret_is_cut_short(self) -> None:
        with pytest.raises(OptionsError) as caught:
            Snapshot(key=["id"], on_stale="x" * 500)  # type: ignore[arg-type]
        assert len(caught.value.what) < 200


class TestCombination:
    @pytest.mark.parametrize("feed", [Append(), Ledger(key=["id"])])
    def test_F1_F2_do_not_go_with_versions(self, feed: Append | Ledger) -> None:
        with pytest.raises(OptionsError) as caught:
            check_combination(feed, Versions())
        assert caught.value.code == "unsupported_combination"
        assert caught.value.hint is not None
        assert "log" in caught.value.hint

    def test_F1_append_does_not_go_with_current(self) -> None:
        with pytest.raises(OptionsError, match="'append' does not go with history 'current'"):
            check_combination(Append(), Current())

    @pytest.mark.parametrize("history", [Log(), Current(), Versions()])
    @pytest.mark.parametrize("feed", [Snapshot(key=["id"]), Updates(key=["id"]), Changes(key=["id"])])
    def test_the_others_go_with_all(self, feed: Changes, history: Versions) -> None:
        check_combination(feed, history)

    @pytest.mark.parametrize(
        ("feed", "place"),
        [
            (Changes(key=["A"]), "the key"),
            (Changes(key=["id"], order_by=["a"]), "order_by"),
            (Changes(key=["id"], event_time="a"), "event_time"),
            (Changes(key=["id"], except_columns=["a"]), "except_columns"),
        ],
    )
    def test_V4_bookkeeping_columns_are_never_tracked(self, feed: Changes, place: str) -> None:
        with pytest.raises(OptionsError, match=f"track names the column 'a', which is in {place}"):
            check_combination(feed, Versions(track=["a"]))


class TestForms:
    def test_lists_become_tuples_and_nothing_changes_later(self) -> None:
        feed = Changes(key=["id"], order_by=["lsn"])
        assert feed.key == ("id",)
        with pytest.raises(Exception, match="frozen"):
            feed.key = ["other"]

    def test_G5_a_snapshot_fails_on_bad_rows_the_others_quarantine(self) -> None:
        assert Snapshot(key=["id"]).on_bad_rows == "fail"
        assert Changes(key=["id"]).on_bad_rows == Append().on_bad_rows == "quarantine"

    def test_event_time_in_both_forms(self) -> None:
        assert Changes(key=["id"]).event_time_column is None
        assert Changes(key=["id"], event_time="t").event_time_column == EventTimeColumn(column="t")
        long = Changes.model_validate({"key": ["id"], "event_time": {"column": "t", "format": "epoch_ms"}})
        assert long.event_time_column == EventTimeColumn(column="t", format="epoch_ms")

    def test_initial_valid_from_in_both_forms(self) -> None:
        day = dt.date(1900, 1, 1)
        assert Versions(initial_valid_from=day).initial == InitialValidFrom(at=day, keys="first_batch")
        every = Versions.model_validate({"initial_valid_from": {"at": "1900-01-01", "keys": "all"}})
        assert every.initial == InitialValidFrom(at=day, keys="all")

    def test_V2_an_open_end_of_null_is_not_the_same_as_none_given(self) -> None:
        assert Versions().open_end == FAR_END
        assert Versions(open_end=None).open_end is None

    def test_own_columns_follow_rename(self) -> None:
        history = Versions(rename={"Valid_From": "starts"})
        assert history.own("valid_from") == "starts"
        assert history.own("valid_to") == "valid_to"


class TestRecorded:
    def test_G9_is_json_and_leaves_out_defaults_guards_and_reactions(self) -> None:
        feed = Snapshot(
            key=["Id"], allow_empty=True, max_delete_fraction=0.5, on_stale="skip", on_bad_rows="quarantine"
        )
        assert feed.recorded() == {"kind": "snapshot", "key": ["id"]}
        assert Versions().recorded() == {"kind": "versions"}

    def test_G9_everything_that_shapes_rows_is_in_it(self) -> None:
        feed = Changes(
            key=["b", "a"],
            order_by=["t"],
            delete_when=" op = 'D' ",
            truncate_when="op = 'T'",
            ignore_when="op = 'B'",
            upsert_when="op = 'U'",
            except_columns=["op", "X"],
            ignore_nulls=["z", "Y"],
            event_time=EventTimeColumn(column="T", format="%Y"),
        )
        history = Versions(
            track=["z", "Y"],
            deletes="flag",
            valid_from="T",
            initial_valid_from=dt.date(1900, 1, 1),
            open_end=None,
            end="inclusive_day",
            flag=["Y", "N"],
            rename={"sk": "Id"},
        )
        assert json.loads(json.dumps(feed.recorded())) == {
            "kind": "changes",
            "key": ["b", "a"],
            "except_columns": ["op", "x"],
            "event_time": {"column": "t", "format": "%Y"},
            "order_by": ["t"],
            "ignore_nulls": ["y", "z"],
            "delete_when": "op = 'D'",
            "truncate_when": "op = 'T'",
            "ignore_when": "op = 'B'",
            "upsert_when": "op = 'U'",
        }
        assert json.loads(json.dumps(history.recorded())) == {
            "kind": "versions",
            "track": ["y", "z"],
            "deletes": "flag",
            "valid_from": "t",
            "initial_valid_from": {"at": "1900-01-01", "keys": "first_batch"},
            "open_end": None,
            "end": "inclusive_day",
            "flag": ["Y", "N"],
            "rename": {"sk": "id"},
        }

    def test_both_ways_of_saying_one_thing_are_one_setting(self) -> None:
        short = Changes(key=["ID"], event_time="T", except_columns=["a", "b"], ignore_nulls=[])
        long = Changes(key=["id"], event_time=EventTimeColumn(column="t"), except_columns=["B", "A"])
        assert short.recorded() == long.recorded()
        day = dt.date(1900, 1, 1)
        short_history, long_history = (
            Versions(initial_valid_from=day),
            Versions(initial_valid_from=InitialValidFrom(at=day)),
        )
        assert short_history.recorded() == long_history.recorded()

    def test_an_empty_list_is_not_none(self) -> None:
        assert Versions(track=[]).recorded() != Versions().recorded()
        assert Snapshot(key=["id"], compare=[]).recorded() != Snapshot(key=["id"]).recorded()
