"""The page on the papers, and the table of a run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from .claim import Claim, Paper, Verdict

_HEAD = """# What the papers measured, and what we have

Every figure and table of the four papers, with the paper's number, ours, and the verdict.
`python -m benchmarks.papers` runs the commands and prints the same table with what it measures; it
goes on where it was stopped. `--quick` takes small parts (ten CPU minutes, two commands at once),
`--list` runs nothing. The numbers here are those of the pages that they link to; a test compares
them. Seconds depend on the machine.

*Reproduced* is within 5 % of the paper's figure; *better* and *differs* are by that figure. A row
that differs, or has no figure of ours, says why. Figures that only explain something, and lists of
symbols, have a row as well, so that none is left out.
"""


def page(claims: Sequence[Claim]) -> str:
    """Return the page."""
    return "\n".join([_HEAD, *_counts(claims), *_papers(claims)]) + "\n"


def _counts(claims: Sequence[Claim]) -> Iterator[str]:
    counted = Counter(claim.verdict for claim in claims)
    yield "| verdict | rows |"
    yield "|---|---:|"
    yield from (f"| {verdict} | {counted[verdict]} |" for verdict in Verdict)
    yield ""


def _papers(claims: Sequence[Claim]) -> Iterator[str]:
    for paper in Paper:
        own = [claim for claim in claims if claim.paper is paper]
        yield f"## {paper}"
        yield ""
        yield "| item | section | it says | paper | ours | verdict | command |"
        yield "|---|---|---|---:|---:|---|---|"
        yield from (_row(claim) for claim in own)
        yield ""


def _row(claim: Claim) -> str:
    verdict = f"{claim.verdict}: {claim.because}" if claim.because else str(claim.verdict)
    command = f"`{claim.command.line()}`" if claim.command else "-"
    link = f"[{claim.figure(claim.ours)}]({_target(claim.page)})"
    cells = (claim.item, claim.section, claim.says, claim.figure(claim.theirs))
    return f"| {' | '.join(cells)} | {link} | {verdict} | {command} |"


def _target(page: str) -> str:
    """Return how the page links to another one; both lie in ``docs`` unless it says otherwise."""
    return page.removeprefix("docs/") if page.startswith("docs/") else f"../{page}"


def measured(claims: Sequence[Claim], found: Mapping[Claim, float | None]) -> str:
    """Return the table of a run: what the papers say, what our pages say, what was found now."""
    lines = [
        "| paper | item | it says | paper | page | measured now | verdict on it |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for claim in claims:
        now = found.get(claim)
        verdict = claim.verdict if now is None else (claim.judged or claim.compare(now))
        cells = (claim.paper, claim.item, claim.says, claim.figure(claim.theirs))
        values = (claim.figure(claim.ours), claim.figure(now), verdict)
        lines.append(f"| {' | '.join((*cells, *values))} |")
    return "\n".join(lines) + "\n"
