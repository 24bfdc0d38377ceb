"""The tiers of operators."""

import pytest
from onnx.defs import get_all_schemas

from accnn.compiler.conformance import tiers
from accnn.compiler.conformance.tiers import tier_of


@pytest.mark.parametrize(
    ("operator", "domain", "tier"),
    [
        ("Conv", "", 1),
        ("LayerNormalization", "", 2),
        ("NonZero", "", 3),
        ("StringConcat", "", None),
        ("Conv", "com.microsoft", None),
    ],
)
def test_an_operator_has_one_tier(operator: str, domain: str, tier: int | None):
    assert tier_of(operator, domain) == tier


def test_tiers_name_operators_of_onnx_once():
    lists = [text.split() for text in (tiers._TIER_1, tiers._TIER_2, tiers._TIER_3)]
    names = [name for names in lists for name in names]

    assert len(names) == len(set(names))
    assert set(names) <= {schema.name for schema in get_all_schemas()}
