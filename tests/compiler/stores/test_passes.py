"""What a slow pass made is recalled for the same stages, options and seed, and verified."""

import logging
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.stores.passes import Made, PassMemory, key_of
from accnn.compiler.stores.store import Store, code_version, package_version
from accnn.ir.codec.column_codec import dump_columns, parse_columns
from accnn.ir.graph import Graph, Value
from accnn.ir.module import Module, Stage
from accnn.ir.ops import make_op
from accnn.ir.resources import Constants
from accnn.ir.types import DType, TensorType
from accnn.passes.base import CUT_SHORT, SECONDS_OF, STOOD_IN, Context, Counters, Pass
from accnn.passes.manager import run_pipeline
from accnn.passes.pipeline import Pipeline
from accnn.passes.scheduling.across.schedule_across import ScheduleAcross
from accnn.passes.scheduling.flexer.schedule_flexer import ScheduleFlexer
from accnn.passes.scheduling.schedule_cosma import ScheduleCosma
from accnn.passes.scheduling.schedule_in_order import ScheduleInOrder
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles
from tests.flow import compile_graph
from tests.networks import residual_network

ROOT = Path(__file__).parents[3]
ARCH = load_architecture("edge-fp32")


def module(extent: int = 12) -> Module:
    types = {"x": TensorType(DType.F32, (2, extent))}
    op = make_op("relu", ("x",), types, "y")
    graph = Graph(
        name="net",
        inputs=(Value("x", types["x"]),),
        constants=(),
        ops=(op,),
        outputs=("y",),
    )
    return Module(graph=graph, arch=ARCH)


@dataclass(frozen=True)
class Slow(ScheduleInOrder):
    name: ClassVar[str] = "slow"
    is_slow: ClassVar[bool] = True

    def run(self, module: Module, ctx: Context) -> Module:
        assert not module.constants
        ctx.counters.add("runs")
        ctx.counters.add(f"{SECONDS_OF}y", 3.0)
        return super().run(module, ctx)


@dataclass(frozen=True)
class Quick(Slow):
    is_slow: ClassVar[bool] = False


def counted(memory: PassMemory, given: Module) -> tuple[Module, dict[str, float]]:
    counters = Counters()
    after = memory(Slow(), given, Context(counters=counters))
    return after, dict(counters.values)


def test_a_pass_is_recalled_with_its_counters_but_not_its_seconds(tmp_path, monkeypatch):
    memory = PassMemory(Store(tmp_path))
    first, counters = counted(memory, module())
    monkeypatch.setattr(Slow, "run", lambda *_: pytest.fail("it runs again"))

    again, recalled = counted(memory, module())

    assert again == first
    assert counters[f"{SECONDS_OF}y"] == 3.0
    assert recalled == {name: count for name, count in counters.items() if "seconds" not in name}


@dataclass(frozen=True)
class Rewriting(Slow):
    name: ClassVar[str] = "rewriting"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH, Stage.GRAPH_SCHEDULE})
    kind: str = "relu"

    def run(self, module: Module, ctx: Context) -> Module:
        op = make_op(self.kind, ("x",), {"x": module.graph.types["x"]}, "y")
        return super().run(replace(module, graph=replace(module.graph, ops=(op,))), ctx)


@pytest.mark.parametrize("kind", ["relu", "abs"])
def test_the_network_is_recalled_with_the_plan_that_is_of_it(tmp_path, monkeypatch, kind: str):
    memory = PassMemory(Store(tmp_path))
    first = memory(Rewriting(kind=kind), module(), Context())
    monkeypatch.setattr(Rewriting, "run", lambda *_: pytest.fail("it runs again"))

    again = memory(Rewriting(kind=kind), module(), Context())

    assert again == first
    assert again.graph.ops[0].kind == kind


@dataclass(frozen=True)
class Counting(Slow):
    name: ClassVar[str] = "counting"
    counter: str = ""

    def run(self, module: Module, ctx: Context) -> Module:
        ctx.counters.add(self.counter)
        return super().run(module, ctx)


@pytest.mark.parametrize(
    ("counter", "files"), [(CUT_SHORT, 0), (STOOD_IN, 0), ("something else", 1)]
)
def test_what_another_run_does_better_is_not_kept(tmp_path, counter, files):
    memory = PassMemory(Store(tmp_path))
    runs = Counters()
    for _ in range(2):
        memory(Counting(counter=counter), module(), Context(counters=runs))

    # counters of a run that is recalled count, too
    counts = dict(runs.values)
    assert (counts["runs"], counts[counter]) == (2, 2)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == files


def test_constants_are_withheld_and_come_back(tmp_path):
    given = replace(module(), constants=Constants().with_arrays({"w": np.zeros(3, np.float32)}))

    after, _ = counted(PassMemory(Store(tmp_path)), given)

    assert after.constants is given.constants


def test_stages_options_and_seed_change_the_key():
    keys = {
        key_of(Slow(), module(), 0),
        key_of(Slow(), module(), 1),
        key_of(Slow(), module(13), 0),
        key_of(Slow(scratchpad="64K"), module(), 0),
        key_of(Slow(), replace(module(), arch=load_architecture("simba")), 0),
    }

    assert len(keys) == 5


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("ir/graph.py", True),
        ("passes/scheduling/schedule_in_order.py", True),
        ("passes/mapping/recipes/cosa.py", True),
        ("backend/lowering/lower.py", False),
    ],
)
def test_the_code_of_all_passes_changes_the_key(monkeypatch, file, counts):
    before, read = key_of(Slow(), module(), 0), Path.read_bytes
    changed = ROOT / file
    assert changed.is_file()
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path == changed))
    code_version.cache_clear()

    after = key_of(Slow(), module(), 0)

    code_version.cache_clear()
    assert (after != before) == counts


def test_the_code_of_installed_plug_ins_changes_the_key(tmp_path, monkeypatch):
    before = key_of(Slow(), module(), 0)
    (tmp_path / "mapper_of_others.py").write_text("LAZY = 1\n")
    info = tmp_path / "mapper_of_others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mapper-of-others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[accnn.mappers]\nlazy = mapper_of_others:LAZY\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed = key_of(Slow(), module(), 0)
    (tmp_path / "mapper_of_others.py").write_text("LAZY = 2\n")
    package_version.cache_clear()

    assert len({before, installed, key_of(Slow(), module(), 0)}) == 3


@pytest.mark.parametrize("memory", [None, Slow])
def test_quick_passes_and_those_without_a_store_run_each_time(tmp_path, memory):
    store = None if memory is Slow else Store(tmp_path)
    item = Slow() if memory is Slow else Quick()
    counters = Counters()

    for _ in range(2):
        PassMemory(store)(item, module(), Context(counters=counters))

    assert dict(counters.values)["runs"] == 2
    assert not list(tmp_path.iterdir())


def test_a_damaged_entry_is_made_anew(tmp_path, caplog):
    memory = PassMemory(Store(tmp_path))
    first, _ = counted(memory, module())
    (entry,) = tmp_path.rglob("*.pass")
    entry.write_bytes(entry.read_bytes()[:-1])

    with caplog.at_level(logging.WARNING):
        again, counters = counted(memory, module())

    assert again == first
    assert counters["runs"] == 1
    assert "solving anew" in caplog.text


def test_a_plan_that_is_wrong_is_made_anew(tmp_path, caplog):
    """The text is fine, but the independent checker finds that nothing is moved."""
    ctx = Context(run_pass=PassMemory(Store(tmp_path)))
    pipeline = Pipeline((ScheduleCosma(rounds=0),))
    first = run_pipeline(pipeline, module(), ctx).module
    (entry,) = tmp_path.rglob("*.pass")
    kept = parse_columns(entry.read_bytes(), Made)
    plan = replace(kept.graph_schedule, loads=(), streams=())
    entry.write_bytes(dump_columns(replace(kept, graph_schedule=plan)))

    with caplog.at_level(logging.WARNING):
        again = run_pipeline(pipeline, module(), ctx).module

    assert again == first
    assert "solving anew" in caplog.text


SCHEDULERS = {
    "simba": ScheduleTiles(),
    "edge-1m": ScheduleAcross(),
    "flexer-arch5": ScheduleFlexer(steps=100_000),
}
"""A machine for each pass that schedules tiles."""


def scheduled(arch: str) -> Module:
    """Return a network up to its tile schedule."""
    compiled = compile_graph(*residual_network(8, 8), arch, all_off_chip=False).module
    return replace(compiled, program=None)


def tiled(item: Pass, given: Module, folder: Path) -> tuple[Module, dict[str, float]]:
    counters = Counters()
    memory = PassMemory(Store(folder))
    return memory(item, given, Context(counters=counters)), dict(counters.values)


@pytest.mark.parametrize("arch", [*SCHEDULERS])
def test_tiles_are_scheduled_once(arch: str, tmp_path, monkeypatch):
    item, given = SCHEDULERS[arch], scheduled(arch)
    first, counters = tiled(item, given, tmp_path)
    monkeypatch.setattr(type(item), "run", lambda *_: pytest.fail("it runs again"))

    again, recalled = tiled(item, given, tmp_path)

    again.verify()
    assert first.tile_schedule is not None
    assert (again, recalled) == (first, counters)


def test_where_nothing_changes_the_module_is_the_same(tmp_path):
    given = scheduled("simba")
    assert ScheduleTiles().run(given, Context()) == given

    for _ in range(2):
        assert tiled(ScheduleTiles(), given, tmp_path)[0] is given


def test_the_schedule_of_tiles_changes_the_key_where_a_pass_reads_it():
    given = scheduled("edge-1m")
    schedule = given.tile_schedule
    assert schedule is not None
    other = replace(given, tile_schedule=replace(schedule, events=schedule.events[:-1]))

    assert key_of(ScheduleAcross(), other, 0) != key_of(ScheduleAcross(), given, 0)


@pytest.mark.parametrize("item", [ScheduleTiles(), ScheduleFlexer(steps=100_000)])
def test_a_schedule_that_is_replaced_does_not_matter(item: Pass, tmp_path):
    given = scheduled("edge-1m")
    tiled(item, replace(given, tile_schedule=None), tmp_path)

    tiled(item, given, tmp_path)

    assert len([*tmp_path.rglob("*.pass")]) == 1


def test_a_schedule_that_is_wrong_is_made_anew(tmp_path, caplog):
    """It can be read, but the verifier finds that a tile is never computed."""
    given = replace(scheduled("simba"), tile_schedule=None)
    first, _ = tiled(ScheduleTiles(), given, tmp_path)
    (entry,) = tmp_path.rglob("*.pass")
    kept = parse_columns(entry.read_bytes(), Made)
    assert kept.tile_schedule is not None
    fewer = replace(kept.tile_schedule, events=kept.tile_schedule.events[:-1])
    entry.write_bytes(dump_columns(replace(kept, tile_schedule=fewer)))

    with caplog.at_level(logging.WARNING):
        again, _ = tiled(ScheduleTiles(), given, tmp_path)

    assert again == first
    assert "solving anew" in caplog.text
    assert parse_columns(entry.read_bytes(), Made) == kept


def test_the_key_does_not_depend_on_the_seed_of_hashes():
    text = f"from {__name__} import *; print(key_of(ScheduleAcross(), scheduled('edge-1m'), 0))"
    here = key_of(ScheduleAcross(), scheduled("edge-1m"), 0)

    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"{here}\n"
