"""What envelopes share."""

from __future__ import annotations

import pytest

from lakebed.sources.envelopes.given import IN_FILE_BITS
from lakebed.sources.envelopes.unavailable import forms
from lakebed.sources.reading import BLOCK_BITS, ROW_BITS


def test_a_place_in_a_file_is_what_the_reader_puts_there() -> None:
    assert IN_FILE_BITS == BLOCK_BITS + ROW_BITS


@pytest.mark.parametrize(
    ("placeholder", "form"),
    [
        ("__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="),
        ("__debezium_unavailable_value", '["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]'),
        ("ab", "[97,98]"),
        ("hex:6162", "ab"),
        ("hex:6162", '{"ab":"ab"}'),
    ],
)
def test_the_placeholder_in_its_forms(placeholder: str, form: str) -> None:
    assert form in forms(placeholder)
