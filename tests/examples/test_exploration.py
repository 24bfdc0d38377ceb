"""The studies among the examples can be read, and ask what they say they ask."""

import re
from pathlib import Path

import pytest

from accnn.backend.load import load_architecture
from accnn.compiler.explore.findings.figures import all_figures
from accnn.compiler.explore.results.database import open_database
from accnn.compiler.explore.run import StudyRun, digest_of_study
from accnn.compiler.explore.study.read import read_study
from accnn.compiler.explore.work.machine import machine_of
from accnn.compiler.explore.work.maker import maker_of
from tests.exploring import InTurn, kept, small_study, told

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "exploration"
STUDIES = sorted(FOLDER.glob("*.toml"))


def test_the_readme_lists_every_study():
    listed = re.findall(r"`(\w+\.toml)`", (FOLDER / "README.md").read_text())

    assert sorted(listed) == [path.name for path in STUDIES]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_point_of_a_study_is_a_machine(path: Path):
    study = read_study(path)
    make = maker_of(study, None)

    for number in range(study.space.size):
        machine = machine_of(study, study.space.point(study.space.indices(number)))
        assert machine.arch is not None
        assert machine.cause == ""
        assert next(make(machine.arch, machine.mapper)).asked.key


def test_flexers_machines_are_those_of_the_catalogue():
    study = read_study(FOLDER / "flexer_eight.toml")

    machines = [machine_of(study, study.space.point((number,))) for number in range(8)]

    assert [item.arch for item in machines] == [
        load_architecture(f"flexer-arch{number}") for number in range(1, 9)
    ]


def test_the_smallest_scratchpad_without_spills(tmp_path: Path):
    """Of some sizes around it: the study asks for larger and smaller ones, too."""
    text = (FOLDER / "scratchpad_without_spills.toml").read_text()
    sizes = 'from = "1 MiB", to = "4 MiB"'
    assert sizes in text
    study = small_study(tmp_path, text.replace(sizes, 'from = "2176 KiB", to = "2560 KiB"'))
    make = maker_of(study, None)
    database = open_database(f"sqlite:///{tmp_path / 'plans.db'}")
    database.begin(study.tables.name, digest_of_study(study, make), study.text)

    StudyRun(study, database, InTurn(), make, told, kept).run()

    fitting = [item for item in all_figures(database) if item.networks]
    assert (len(fitting), study.space.size) == (2, 4)
    assert fitting[0].point.values == '{"gb.capacity": 2490368}'
    assert all(network.spills == 0 for item in fitting for network in item.networks)


def test_the_study_of_the_documents_can_be_read(tmp_path: Path):
    text = (ROOT / "docs/explore.md").read_text()
    (block,) = re.findall(r"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)

    study = small_study(tmp_path, block)

    assert study.space.size == 3 * 5 * 2
    assert study.tables.search.points == 200
