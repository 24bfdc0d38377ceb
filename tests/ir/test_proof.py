import pytest

from accnn.ir.errors import VerifyError
from accnn.ir.proof import Scope, gap_of, verify_proof


def test_a_gap_is_a_share_of_the_bound():
    assert gap_of(12.0, 10.0) == pytest.approx(0.2)
    assert gap_of(10.0, 10.0) == 0.0
    assert gap_of(9.0, 10.0) == pytest.approx(-0.1)


@pytest.mark.parametrize("bound", [None, 0.0, 0])
def test_without_a_positive_bound_there_is_no_gap(bound):
    assert gap_of(12.0, bound) is None


@pytest.mark.parametrize(
    ("bound", "scope", "is_optimal", "expected"),
    [
        (1.0, None, False, "x: a bound and its scope belong together"),
        (None, Scope.ALL_NESTS, False, "x: a bound and its scope belong together"),
        (None, None, True, "x: optimal without a bound"),
        (11.0, Scope.ALL_NESTS, False, "x: the bound 11.0 of all nests lies above 10.0"),
    ],
)
def test_claims_without_their_proof_are_refused(bound, scope, is_optimal, expected):
    with pytest.raises(VerifyError, match=expected):
        verify_proof("x", 10.0, bound, scope, is_optimal=is_optimal)


@pytest.mark.parametrize("scope", Scope)
def test_only_even_nests_may_be_beaten_by_what_is_none(scope):
    assert scope.is_everything is (scope is not Scope.EVEN_NESTS)
    verify_proof("x", 10.0, 10.0, scope, is_optimal=True)
    verify_proof("x", 10.0, None, None, is_optimal=False)
    verify_proof("x", 10.0, 11.0, Scope.EVEN_NESTS, is_optimal=True)
