"""A seeded fault: one line of the source that is wrong, and who must object.

Nothing here imports the package: faults are planted before it is imported.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).parents[3]
"""Of the repository."""


class Judge(StrEnum):
    """Who objects."""

    MODEL_VS_SIMULATOR = "model against simulator"
    AGAINST_ORACLE = "against an oracle"
    VERIFIER = "verifier"
    FORGERY = "forgery"


class Exam(StrEnum):
    """What is compared, or run; see ``battery.py``."""

    EVENTS = "times of every event"
    ACCOUNTS = "traffic and energy of every operator"
    DESCRIPTORS = "cost of every descriptor"
    LINKS = "traffic over the mesh"
    LAYOUTS = "spread of every tile"
    NESTS = "cost of random descriptors"
    ARRAY = "descriptors, executed"
    WHOLE_NESTS = "whole nests, executed"
    HAZARDS = "random hazards"
    CLOCK = "compiler's clock, cycle by cycle"
    TIMING = "simulator's clock, cycle by cycle"
    VALUES = "every tensor"
    BIASES = "rounding of the multiplier"
    ONNXRUNTIME = "operators of onnxruntime"
    SECTIONS = "floats inside, in sections"
    MULTIPLES = "MAC instructions by definition"
    TRANSFERS = "transfers over the mesh"
    OFF_CHIP = "the off-chip memory"
    MESHED = "programs over the mesh"
    RUN = "schedules and programs"
    TRANSLATED = "programs against their schedules"
    FUSED = "fused groups"
    JOINT = "schedules across operators"
    TRAFFIC = "bytes of a plan"
    BOUNDS = "random nests and their bounds"
    PLANS = "random plans and their bound"
    BLOCKS = "blocks that share a step"
    UTILIZATION = "utilisation of several NPUs"
    FORGED_SCHEDULES = "forged schedules"
    FORGED_PLANS = "forged plans"
    FORGED_PROGRAMS = "forged programs"
    FORGED_RACES = "forged races"
    FORGED_SECTIONS = "forged sections"
    FORGED_OPTIMA = "forged optima"
    FORGED_FLOATS = "forged floats"

    @property
    def judge(self) -> Judge:
        """Who it belongs to."""
        return _JUDGES[self]


_JUDGES = {
    Exam.EVENTS: Judge.MODEL_VS_SIMULATOR,
    Exam.ACCOUNTS: Judge.MODEL_VS_SIMULATOR,
    Exam.DESCRIPTORS: Judge.MODEL_VS_SIMULATOR,
    Exam.LINKS: Judge.MODEL_VS_SIMULATOR,
    Exam.LAYOUTS: Judge.MODEL_VS_SIMULATOR,
    Exam.NESTS: Judge.MODEL_VS_SIMULATOR,
    Exam.TRAFFIC: Judge.MODEL_VS_SIMULATOR,
    Exam.BOUNDS: Judge.AGAINST_ORACLE,
    Exam.PLANS: Judge.AGAINST_ORACLE,
    Exam.BLOCKS: Judge.AGAINST_ORACLE,
    Exam.UTILIZATION: Judge.AGAINST_ORACLE,
    Exam.ARRAY: Judge.AGAINST_ORACLE,
    Exam.WHOLE_NESTS: Judge.AGAINST_ORACLE,
    Exam.HAZARDS: Judge.AGAINST_ORACLE,
    Exam.CLOCK: Judge.AGAINST_ORACLE,
    Exam.TIMING: Judge.AGAINST_ORACLE,
    Exam.VALUES: Judge.AGAINST_ORACLE,
    Exam.BIASES: Judge.AGAINST_ORACLE,
    Exam.ONNXRUNTIME: Judge.AGAINST_ORACLE,
    Exam.SECTIONS: Judge.AGAINST_ORACLE,
    Exam.MULTIPLES: Judge.AGAINST_ORACLE,
    Exam.TRANSFERS: Judge.AGAINST_ORACLE,
    Exam.OFF_CHIP: Judge.AGAINST_ORACLE,
    Exam.MESHED: Judge.AGAINST_ORACLE,
    Exam.RUN: Judge.VERIFIER,
    Exam.TRANSLATED: Judge.VERIFIER,
    Exam.FUSED: Judge.VERIFIER,
    Exam.JOINT: Judge.VERIFIER,
    Exam.FORGED_SCHEDULES: Judge.FORGERY,
    Exam.FORGED_PLANS: Judge.FORGERY,
    Exam.FORGED_PROGRAMS: Judge.FORGERY,
    Exam.FORGED_RACES: Judge.FORGERY,
    Exam.FORGED_SECTIONS: Judge.FORGERY,
    Exam.FORGED_OPTIMA: Judge.FORGERY,
    Exam.FORGED_FLOATS: Judge.FORGERY,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One line that is wrong.

    Attributes:
        name: What is wrong.
        file: Where, from the root.
        old: Text of one line as it is; stands there once.
        new: Text that takes its place.
        exam: What must show it.
    """

    name: str
    file: str
    old: str
    new: str
    exam: Exam

    @property
    def module(self) -> str:
        """Name of the module that it is in."""
        return "accnn." + self.file.removesuffix(".py").replace("/", ".")

    def source(self) -> str:
        """Return the source as it is."""
        return (ROOT / self.file).read_text()

    def planted(self) -> str:
        """Return the source with the fault in it."""
        return self.source().replace(self.old, self.new, 1)
