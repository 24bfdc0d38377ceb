"""What a pass chose is found again for the same module, options and seed, and for no other."""

import logging
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from accnn.compiler.stores.choices import ChoiceMemory, choice_key
from accnn.compiler.stores.store import Store
from accnn.ir.module import Module
from accnn.passes.base import Choice
from accnn.passes.scheduling.across.schedule_across import ScheduleAcross
from accnn.passes.scheduling.static.schedule_tiles import ScheduleTiles
from tests.flow import compile_graph
from tests.networks import residual_network

ITEM = ScheduleAcross()


def scheduled(arch: str = "edge-1m") -> Module:
    return compile_graph(*residual_network(), arch, tiles="static").module


def made(memory: ChoiceMemory, found: Choice, *, is_followed: bool = True) -> str:
    """Return how a pass makes something: by which choice, and whether that was searched for."""
    return memory(
        ITEM,
        scheduled(),
        0,
        lambda choice: f"followed {choice}" if is_followed else None,
        lambda: (found, f"found {found}"),
    )


@pytest.mark.parametrize("choice", [(), (3,), (1, 2)])
def test_a_choice_is_found_once_and_then_followed(tmp_path: Path, choice: Choice):
    memory = ChoiceMemory(Store(tmp_path))

    assert made(memory, choice) == f"found {choice}"
    assert made(memory, (9,)) == f"followed {choice}"


def test_what_cannot_be_followed_is_found_anew(tmp_path: Path):
    memory = ChoiceMemory(Store(tmp_path))
    made(memory, (1,))

    assert made(memory, (2,), is_followed=False) == "found (2,)"
    assert made(memory, (3,)) == "followed (2,)"


def test_nothing_is_kept_without_a_store():
    memory = ChoiceMemory(None)

    assert made(memory, (1,)) == "found (1,)"
    assert made(memory, (2,)) == "found (2,)"


def test_module_pass_schedule_and_seed_change_the_key():
    module = scheduled()
    schedule = module.tile_schedule
    assert schedule is not None
    fewer = replace(schedule, events=schedule.events[:-1])
    keys = {
        choice_key(ITEM, module, 0),
        choice_key(ITEM, module, 1),
        choice_key(ScheduleTiles(), module, 0),
        choice_key(ITEM, scheduled("simba"), 0),
        choice_key(ITEM, replace(module, tile_schedule=fewer), 0),
    }

    assert len(keys) == 5


def test_data_and_programs_do_not_change_the_key():
    module = scheduled()
    other = module.constants.with_arrays({"w": np.zeros(3, np.float32)})

    changed = replace(module, program=None, constants=other)

    assert choice_key(ITEM, changed, 0) == choice_key(ITEM, module, 0)


def test_the_key_does_not_depend_on_the_seed_of_hashes():
    text = f"from {__name__} import *; print(choice_key(ITEM, scheduled(), 0))"
    keys = {
        subprocess.run(
            [sys.executable, "-c", text],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }

    assert len(keys) == 1


def test_what_is_damaged_is_not_known(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    memory = ChoiceMemory(Store(tmp_path))
    made(memory, (1,))
    (path,) = tmp_path.rglob("*.choice.json")
    path.write_text("{")

    with caplog.at_level(logging.WARNING):
        assert made(memory, (2,)) == "found (2,)"

    assert "solving anew" in caplog.text
    assert made(memory, (3,)) == "followed (2,)"
