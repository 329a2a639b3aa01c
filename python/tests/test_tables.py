"""Conversion of tables to pandas, polars and pyarrow without a dependency of this package, with their provenance."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import wayleave as wl


@pytest.fixture(scope="module")
def tables(plan: wl.Plan) -> dict[str, Any]:
    """Creates every object that has a table, and one table of each kind."""
    traffic = [{"name": "web", "load": 0.6, "sizes": "9kB"}, {"name": "bulk", "from": ["h1"], "to": "h2", "sizes": "endless"}]
    scenario = {"topology": "star:hosts=3,rate=1Gbit", "duration": "2ms", "traffic": traffic}
    run = wl.simulate(scenario)
    return {
        "plan": plan,
        "plan.queues": plan.queues,
        "verified": plan.verify(effort="quick"),
        "analysis": wl.analyze(plan),
        "servers": wl.analyze(plan).servers,
        "run": run,
        "flows": run.flows,
        "queues": run.queues,
        "links": run.links,
        "sweep": wl.sweep(scenario, {"traffic.web.load": [0.2, 0.4]}, seeds=[1, 2]),
        "network": wl.Network.star(3).links,
    }


def test_pandas_polars_and_pyarrow_read_equal_tables(tables: dict[str, Any]) -> None:
    for name, of in tables.items():
        table = of if isinstance(of, wl.Table) else of.table
        arrow, frame, wide = pyarrow.table(of), polars.DataFrame(of), pandas.DataFrame.from_arrow(of)
        assert arrow.column_names == frame.columns == list(wide.columns) == table.column_names, name
        assert arrow.num_rows == frame.height == len(wide) == len(table) > 0, name
        assert arrow.to_pylist() == frame.to_dicts() == table.to_rows(), name
        arrow.validate(full=True)


def test_every_table_has_its_version_and_the_hash_of_its_input(tables: dict[str, Any]) -> None:
    for name, of in tables.items():
        table = of if isinstance(of, wl.Table) else of.table
        schema = {key.decode(): value.decode() for key, value in pyarrow.table(of).schema.metadata.items()}
        assert schema == table.metadata == table.to_pandas().attrs, name
        assert table.metadata["wayleave"] == wl.__version__, name
        assert len(table.metadata["input_hash"]) == 16, name
    for name in ("plan", "verified", "run", "sweep"):
        assert tables[name].table.metadata["seed"], name
    assert tables["sweep"].table.metadata["seed"] == "1 2"


def test_long_documents_are_those_of_json(fat_tree: wl.Network) -> None:
    long = wl.plan(fat_tree, wl.Contracts.drawn(fat_tree, count=900))
    text = long.to_json()
    # Longer than one read, in several lists.
    assert len(text) > 4 * 2**18
    ours, expected = long.to_dict(), json.loads(text)
    assert ours == expected and list(ours) == list(expected)
    assert [list(row) for row in ours["requests"]] == [list(row) for row in expected["requests"]]


def test_another_input_has_another_hash(fat_tree: wl.Network, plan: wl.Plan) -> None:
    other = wl.plan(fat_tree, wl.Contracts.drawn(fat_tree, count=20, seed=2))
    elsewhere = wl.Network.fat_tree(k=4, rate="25Gbit")
    third = wl.plan(elsewhere, wl.Contracts.drawn(elsewhere, count=20))
    again = wl.plan(fat_tree, wl.Contracts.drawn(fat_tree, count=20))
    hashes = [each.table.metadata["input_hash"] for each in (plan, other, third, again)]
    assert len(set(hashes)) == 3 and hashes[0] == hashes[3]


def test_types_of_columns_are_those_of_their_values(plan: wl.Plan) -> None:
    schema = pyarrow.table(plan).schema
    assert schema.field("name").type == pyarrow.string()
    assert schema.field("bound_ns").type == pyarrow.uint64()
    assert pyarrow.table(plan.verify(effort="quick")).schema.field("margin_percent").type == pyarrow.float64()


def test_an_empty_table_is_read_as_well(fat_tree: wl.Network) -> None:
    empty = wl.plan(fat_tree, []).table
    assert pyarrow.table(empty).num_rows == polars.DataFrame(empty).height == len(empty) == 0


def test_a_capsule_outlives_its_table(fat_tree: wl.Network) -> None:
    capsule = wl.plan(fat_tree, wl.Contracts.drawn(fat_tree, count=3)).__arrow_c_stream__()

    class Holder:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return capsule

    assert pyarrow.table(Holder()).num_rows == 3


def test_an_unknown_column_is_reported_with_the_nearest(plan: wl.Plan) -> None:
    with pytest.raises(KeyError, match='did you mean "bound_ns"'):
        plan.table["bound_n"]


def test_the_package_needs_no_other_package() -> None:
    program = (
        "import sys, wayleave as wl\n"
        "n = wl.Network.star(3)\n"
        "p = wl.plan(n, wl.Contracts.drawn(n, count=3))\n"
        "assert len(p.table.to_rows()) == 3 and p._repr_html_()\n"
        "wl.sweep({'topology': 'star:hosts=2', 'duration': '1ms', 'traffic': [{'name': 'a', 'load': 0.1, 'sizes': '1kB'}]})\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'pandas', 'polars', 'pyarrow', 'numpy', 'networkx', 'distributed', 'dask'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
