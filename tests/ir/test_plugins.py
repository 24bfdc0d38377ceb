"""Plug-ins: what is installed is found, what is broken is named and stops nobody."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from accnn.backend.load import catalogue, load_architecture, plugin_targets
from accnn.compiler.cli.acc_opt import app
from accnn.ir.errors import OptionError
from accnn.ir.plugins import PluginGroup, plugins
from accnn.passes.mapping.registry import find_mapper, plugin_mappers
from accnn.passes.registry import pipeline, plugin_passes

MODULE = '''
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from accnn.ir.module import Module, Stage
from accnn.passes.base import Context, Pass
from accnn.passes.mapping.mapper import Mapper


@dataclass(frozen=True)
class LeaveAlone(Pass):
    """Leave the module as it is."""

    name: ClassVar[str] = "leave-alone"
    gives: ClassVar[frozenset[Stage]] = frozenset({Stage.GRAPH})
    times: int = 1

    def run(self, module: Module, ctx: Context) -> Module:
        return module


class Lazy(Mapper):
    name = "lazy"

    def find(self, problem):
        raise NotImplementedError


class Alike:
    name = "alike"

    def map(self, problem):
        raise NotImplementedError


LAZY = Lazy()
ALIKE = Alike()
NUMBER = 7
HERE = Path(__file__).with_name("mine.toml")
NOWHERE = Path(__file__).with_name("nowhere.toml")
WRONG = Path(__file__).with_name("wrong.toml")
'''

TARGET = """\
name = "mine"
scratchpad = "gb"
[[level]]
name = "dram"
holds = ["W", "I", "O"]
[[level]]
name = "gb"
holds = ["W", "I", "O"]
capacity = 64
"""

Install = Callable[[Mapping[str, str]], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request) -> Install:
    """Install a package with entry points of one group, given as ``install(group, name=value)``."""
    module = f"plugin_{request.node.name.partition('[')[0]}"
    (tmp_path / f"{module}.py").write_text(MODULE)
    (tmp_path / "mine.toml").write_text(TARGET)
    (tmp_path / "wrong.toml").write_text(TARGET.replace("capacity = 64", "capacity = 0"))
    monkeypatch.syspath_prepend(tmp_path)

    def run(group: PluginGroup, values: Mapping[str, str], package: str = "mine") -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value.replace('here', module)}\n" for name, value in values.items()]
        (info / "entry_points.txt").write_text(f"[{group}]\n{''.join(lines)}")

    return run


def test_a_pass_is_found_with_its_options(install):
    install(PluginGroup.PASSES, {"leave-alone": "here:LeaveAlone"})

    assert str(pipeline("leave-alone{times=3},eliminate-dead")) == (
        "leave-alone{times=3},eliminate-dead"
    )
    listed = CliRunner().invoke(app, ["--list-passes"]).stdout
    assert "leave-alone\n    Leave the module as it is." in listed


def test_a_mapper_is_found(install):
    install(PluginGroup.MAPPERS, {"lazy": "here:LAZY"})

    assert find_mapper("lazy").name == "lazy"
    with pytest.raises(OptionError, match="did you mean lazy"):
        find_mapper("lazier")


def test_a_target_is_found(install):
    install(PluginGroup.TARGETS, {"mine": "here:HERE"})

    assert load_architecture("mine") == load_architecture("mine.toml")
    assert load_architecture("mine").name == "mine"
    assert "mine" in [entry.name for entry in catalogue()]


BROKEN = {
    "no module": (
        PluginGroup.PASSES,
        "nothing:X",
        "ModuleNotFoundError: No module named 'no",
    ),
    "no such name": (PluginGroup.PASSES, "here:X", "AttributeError"),
    "not a pass": (PluginGroup.PASSES, "here:NUMBER", "TypeError: 7 is no subclass of accnn"),
    "another name": (PluginGroup.PASSES, "here:LeaveAlone", "the name of LeaveAlone is 'leave-alo"),
    "not a mapper": (PluginGroup.MAPPERS, "here:NUMBER", "TypeError: 7 is no instance of accnn"),
    "a class": (PluginGroup.MAPPERS, "here:Lazy", "is no instance of accnn"),
    "only alike": (PluginGroup.MAPPERS, "here:ALIKE", "no instance of accnn.passes.mapping.mapp"),
    "a mapper of another name": (PluginGroup.MAPPERS, "here:LAZY", "its name is 'lazy'"),
    "not a path": (PluginGroup.TARGETS, "here:NUMBER", "7 is no Path of an architecture file"),
    "no file": (PluginGroup.TARGETS, "here:NOWHERE", "nowhere.toml: No such file"),
    "a wrong file": (PluginGroup.TARGETS, "here:WRONG", "level.gb.capacity = 0: must be greater"),
}

USE = {
    PluginGroup.PASSES: pipeline,
    PluginGroup.MAPPERS: find_mapper,
    PluginGroup.TARGETS: load_architecture,
}
ALL = {
    PluginGroup.PASSES: plugin_passes,
    PluginGroup.MAPPERS: plugin_mappers,
    PluginGroup.TARGETS: plugin_targets,
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_one_is_named_and_stops_nobody(install, case: str):
    group, value, reason = BROKEN[case]
    right = {
        PluginGroup.PASSES: {"leave-alone": "here:LeaveAlone"},
        PluginGroup.MAPPERS: {"lazy": "here:LAZY"},
        PluginGroup.TARGETS: {"mine": "here:HERE"},
    }[group]
    install(group, {"broken": value, **right})

    with pytest.raises(OptionError) as caught:
        USE[group]("broken")

    message = str(caught.value)
    assert message.startswith(f"plug-in 'broken' ({group}) of mine cannot be used: ")
    assert reason in message
    assert list(ALL[group]().usable) == list(right)
    assert USE[group](next(iter(right))) is not None


def test_a_broken_pass_is_told_where_passes_are_listed(install):
    install(PluginGroup.PASSES, {"broken": "nothing:X"})

    done = CliRunner().invoke(app, ["--list-passes"])

    assert done.exit_code == 0
    assert "eliminate-dead" in done.stdout
    assert "warning: plug-in 'broken' (accnn.passes) of mine cannot be used" in done.stderr


def test_what_accnn_has_cannot_be_replaced(install):
    install(PluginGroup.MAPPERS, {"cosa": "here:LAZY"})

    assert type(find_mapper("cosa")).__module__.startswith("accnn.")
    assert plugin_mappers().usable == {}


def test_of_two_packages_with_one_name_the_first_counts_and_the_other_is_told(install):
    install(PluginGroup.TARGETS, {"mine": "here:HERE"}, "first")
    install(PluginGroup.TARGETS, {"mine": "here:WRONG"}, "second")

    found = plugins(PluginGroup.TARGETS, lambda name, loaded: loaded)

    assert "of second cannot be used: another package has" in str(found.broken["mine"])
