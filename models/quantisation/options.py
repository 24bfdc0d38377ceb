"""How a float network is quantised."""

from dataclasses import dataclass
from enum import StrEnum

from ...ir.errors import OptionError
from .ranges import CalibrationMethod

PERCENTILE = 99.999
"""Values that the ranges of the method ``percentile`` hold, by default [percent]."""

LEAST_PERCENTILE = 50
"""Fewest values that a range may hold [percent]."""


class Int8(StrEnum):
    """An 8-bit integer type."""

    S8 = "s8"
    U8 = "u8"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizeOptions:
    """How to quantise.

    Attributes:
        activation: Type of activations.
        weight: Type of weights; ``u8`` only together with ``u8`` activations.
        per_channel: One weight scale per output channel instead of one per tensor.
        reduce_range: Weights of seven bits, for machines where u8 x s8 products saturate.
        method: How ranges of activations follow from the calibration data.
        percentile: Values inside of a range, for that method [percent].
    """

    activation: Int8 = Int8.S8
    weight: Int8 = Int8.S8
    per_channel: bool = True
    reduce_range: bool = False
    method: CalibrationMethod = CalibrationMethod.MINMAX
    percentile: float = PERCENTILE

    def __post_init__(self) -> None:
        if not LEAST_PERCENTILE <= self.percentile <= 100:
            raise OptionError(
                f"percentile is {self.percentile:g}, must be {LEAST_PERCENTILE} to 100"
            )
        if self.percentile != PERCENTILE and self.method is not CalibrationMethod.PERCENTILE:
            raise OptionError(
                f"a percentile is given, but the calibration method is {self.method}",
                hint="choose the calibration method percentile",
            )
        if self.activation is Int8.S8 and self.weight is Int8.U8:
            raise OptionError(
                "s8 activations with u8 weights are not supported by onnxruntime",
                hint="use s8 weights",
            )
