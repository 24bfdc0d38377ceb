"""Attributes that several families of operators share."""

from .functions import FUNCTIONS
from .spec import AttrSpec, AttrType

AXIS = AttrSpec(name="axis", type=AttrType.INT, required=True, minimum=0)

CLAMP = (AttrSpec(name="qlo", type=AttrType.INT), AttrSpec(name="qhi", type=AttrType.INT))
"""Bounds of a quantised result, zero point included."""

_FUSABLE = {act: function for act, function in FUNCTIONS.items() if function.is_fusable}

TAIL = (
    AttrSpec(name="act", type=AttrType.STR, allowed=tuple(_FUSABLE)),
    *(
        AttrSpec(name=number.name, type=AttrType.FLOAT)
        for function in _FUSABLE.values()
        for number in function.numbers
    ),
    *CLAMP,
)
"""What an operator applies to its result before it stores it: an activation, or bounds."""

STEPS = (
    AttrSpec(name="stride", type=AttrType.INTS, length=2, minimum=1),
    AttrSpec(name="pads", type=AttrType.INTS, length=4, minimum=0),
    AttrSpec(name="dilation", type=AttrType.INTS, length=2, minimum=1),
)
"""How a window moves."""
