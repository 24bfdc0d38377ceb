"""What is proven, in words: which status stands for which solutions."""

from collections.abc import Iterable

from ...ir.proof import Scope


def scopes_text(claims: Iterable[tuple[str | None, Scope | None]]) -> str:
    """Return what each status is proven of; empty where nothing is.

    Args:
        claims: Status and scope of each solution that is shown: ``optimal``, ``EVEN_NESTS``.

    Returns:
        E.g. ``optimal, feasible: among even nests, these extents; heuristic: among all nests``.
    """
    found: dict[Scope, list[str]] = {}
    for status, scope in claims:
        if status is not None and scope is not None and status not in found.setdefault(scope, []):
            found[scope].append(status)
    return "; ".join(f"{', '.join(names)}: among {scope}" for scope, names in found.items())
