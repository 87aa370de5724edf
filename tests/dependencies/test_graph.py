"""Who depends on whom."""

from __future__ import annotations

import pytest
from tests.dependencies.building import derived, graph, on

from lakebed.errors import ManifestError

DIAMOND = graph(
    derived("g.d", on("g.b"), on("g.c")), derived("g.b", on("G.A")), derived("g.c", on("g.a"), on("g.x"))
)


def test_the_index_by_source() -> None:
    assert DIAMOND.dependents_of("g.A") == ["g.b", "g.c"]
    assert DIAMOND.dependents_of("g.d") == []
    assert DIAMOND.roots == ["g.a", "g.x"]


def test_ranks_and_order() -> None:
    assert DIAMOND.ranks == {"g.b": 1, "g.c": 1, "g.d": 2}
    assert DIAMOND.in_order(["g.d", "g.c", "g.b"]) == ["g.b", "g.c", "g.d"]


def test_several_hops() -> None:
    assert DIAMOND.upstream("g.d") == {"g.a", "g.b", "g.c", "g.x"}
    assert DIAMOND.downstream("g.a") == {"g.b": 1, "g.c": 1, "g.d": 2}


def test_D12_a_cycle_is_refused_with_its_path_whatever_the_case() -> None:
    items = [derived("k.a", on("K.C")), derived("K.b", on("k.A")), derived("k.c", on("k.B")), derived("k.z", on("k.a"))]  # fmt: skip
    with pytest.raises(ManifestError) as caught:
        graph(*items)
    assert caught.value.code == "dependency_cycle"
    assert caught.value.sample == [["k.a", "K.b", "k.c", "k.a"]]
    assert "k.a → K.b → k.c → k.a" in str(caught.value)


@pytest.mark.parametrize("usage", ["append", "overwrite", "validate"])
def test_D12_a_table_does_not_depend_on_itself(usage: str) -> None:
    with pytest.raises(ManifestError) as caught:
        graph(derived("k.a", on("k.s"), on("K.A", usage, shift={"days": 1})))
    assert caught.value.sample == [["k.a", "k.a"]]


def test_D12_names_are_unique_whatever_the_case() -> None:
    with pytest.raises(ManifestError, match="same name"):
        graph(derived("k.a", on("k.s")), derived("K.A", on("k.s")))


def test_a_long_chain() -> None:
    chain = graph(*[derived(f"k.t{n}", on(f"k.t{n - 1}")) for n in range(1, 2001)])
    assert chain.rank("k.t2000") == 2000
