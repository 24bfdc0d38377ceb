"""The tables of the network on chip."""

from pathlib import Path

import numpy as np
import pytest

from accnn.backend.load import load_architecture
from accnn.ir.workload import Workload
from accnn.passes.mapping.problem import MappingProblem
from accnn.runtime_sim.noc.nest_traffic import NetworkRun
from benchmarks import noc


def test_ranks_are_compared_not_values() -> None:
    values = np.array([3.0, 1.0, 2.0, 10.0])

    assert noc.rank_correlation(values, values**3) == pytest.approx(1.0)
    assert noc.rank_correlation(values, -values) == pytest.approx(-1.0)
    # ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4
    tied = noc.rank_correlation(np.array([1, 2, 2, 3]), np.array([1, 2, 3, 4]))
    assert tied == pytest.approx(4.5 / np.sqrt(4.5 * 5))


def test_speed_ups_are_geometric_means_over_layers() -> None:
    def timed(layer: str, mapper: str, cycles: int) -> object:
        run = NetworkRun(
            cycles=cycles,
            compute_cycles=1,
            phases=1,
            simulated=1,
            is_bound=False,
            packets=1,
            crossed=np.zeros(1, np.int64),
            waits={},
            simulated_cycles=cycles,
            fill_cycles=0,
            drain_cycles=0,
            carried={},
        )
        return noc.Timed(layer, mapper, cycles / 2, run)

    rows = [
        timed("resnet50/a", "random", 800),
        timed("resnet50/a", "cosa", 100),
        timed("alexnet/b", "random", 200),
        timed("alexnet/b", "cosa", 100),
    ]

    lines = noc.speedups(rows)

    assert "| mapper | alexnet | resnet50 | all | all, cost model |" in lines
    assert "| cosa | 2.00 | 8.00 | 4.00 | 4.00 |" in lines


def test_draws_are_valid_and_repeat() -> None:
    arch = load_architecture("simba")
    problem = MappingProblem(workload=Workload(P=8, C=16, K=8), arch=arch)

    nests = noc.drawn(problem, 7)

    assert len(nests) == 7
    assert nests == noc.drawn(problem, 7)
    for nest in nests:
        nest.verify(arch)


LAYERS = """dnn,layer,R,S,P,Q,C,K,stride
resnet50,a,1,1,14,14,32,64,1
resnet50,b,3,3,7,7,32,32,1
resnet50,c,1,1,7,7,64,32,1
alexnet,a,3,3,13,13,16,32,1
"""
FIVE = ("cosa", "cosa-paper", "salsa", "random", "timeloop-hybrid")


@pytest.mark.slow
def test_all_mappers_are_measured_over_the_mesh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole benchmark on small layers: latencies, speed-ups, correlations, transactions."""
    monkeypatch.setattr(noc, "LAYERS", tmp_path / "layers.csv")
    noc.LAYERS.write_text(LAYERS)
    asked = f"--arch simba --layers 2 --mapper {','.join(FIVE)} --paper-nodes 1 --most 2000"
    asked += f" --draws 30 --drawn-most 2000 --transfers 5000 --no-cache --output {tmp_path}"

    assert noc.main(asked.split()) == 0

    text = (tmp_path / "noc-simba.md").read_text()
    assert text == capsys.readouterr().out
    tables = _tables(text)
    latency, fig_10, closed, rate = (
        next(rows for title, rows in tables.items() if title.startswith(begin))
        for begin in ("Latency", "Speed-up over random", "Rank correlation", "Transactions")
    )
    assert set(latency) == {"resnet50/a", "resnet50/b", "alexnet/a"}
    assert all(len(row) == len(FIVE) and "-" not in row for row in latency.values())
    assert set(fig_10) == set(FIVE)
    assert fig_10["random"] == ["1.00"] * 4
    assert all(float(cell) > 1 for name in ("cosa", "salsa") for cell in fig_10[name])
    assert set(closed) == {"resnet50/a", "resnet50/b", "least", "mean"}
    assert float(closed["least"][1]) > 0.8
    assert all(float(row[0].replace(",", "")) > 20_000 for row in rate.values())


def _tables(text: str) -> dict[str, dict[str, list[str]]]:
    """Return the cells of each table, by title and first column."""
    found: dict[str, dict[str, list[str]]] = {}
    for section in text.split("\n## ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        found[section.partition("\n")[0]] = {first: cells for first, *cells in rows}
    return found
