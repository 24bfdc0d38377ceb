"""Random networks: every tensor equals NumPy's, nothing races, nothing becomes slower."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accnn.backend.lowering.lower import lower
from accnn.ir.errors import InfeasibleError
from tests.end_to_end.test_random_networks import networks
from tests.passes.scheduling.across.joint import both
from tests.thinned import examples
from tests.timed import program_cycles

ARCHS = ("flexer-arch5", "edge-1m", "flexer-arch1")
SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=examples(20), deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(networks(), st.sampled_from(ARCHS), st.one_of(st.none(), st.integers(1000, 20_000)))
def test_random_networks_across_operators(network, arch: str, budget: int | None):
    try:
        made = both(network, arch, budget=budget)
    except InfeasibleError:
        assert budget is not None and budget < 2000
        return

    made.schedule.verify()
    assert made.compiled.wrong(made.compiled.run(detect_races=True)) == []
    assert made.schedule.cycles <= program_cycles(lower(made.in_turn).program)
