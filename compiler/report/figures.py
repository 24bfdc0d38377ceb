"""Numbers for people: with a prefix, a unit, three digits."""

UNKNOWN = "-"
"""What stands where nothing is known."""

_PREFIXES = (
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "u"),
    (1e-9, "n"),
    (1e-12, "p"),
)


def amount(value: float | None, unit: str = "") -> str:
    """Return a number with a decimal prefix and its unit: ``4.09 G``, ``950 B``, ``2.50 mJ``."""
    if value is None:
        return UNKNOWN
    if isinstance(value, int) and abs(value) < 1000:
        return f"{value} {unit}".rstrip()
    factor, prefix = next((pair for pair in _PREFIXES if abs(value) >= pair[0]), (1.0, ""))
    return f"{value / factor:.2f} {prefix}{unit}".rstrip()


def cycles_text(value: float | None) -> str:
    """Return a number of cycles, all of its digits: ``113,283``."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def capacity(size: int) -> str:
    """Return the size of a memory, which mostly is a power of two: ``128 KiB``; else as others."""
    if size % 1024 or not size:
        return amount(size, "B")
    unit = "KiB" if size % 1024**2 else "MiB"
    return f"{size // (1024 if unit == 'KiB' else 1024**2):,} {unit}"


def joule(picojoule: float | None) -> float | None:
    """Return an energy in J."""
    return None if picojoule is None else picojoule / 1e12


def ratio(value: int | None, bound: int | None) -> str:
    """Return how many times a bound a value is."""
    return f"{value / bound:.2f}" if value is not None and bound else UNKNOWN


def percent(gap: float | None, digits: int = 1) -> str:
    """Return a gap: ``6.0%``, ``-0.8%``; nothing known where there is none."""
    if gap is None:
        return UNKNOWN
    return f"{round(gap, digits + 2) + 0.0:.{digits}%}"  # no "-0.0%"


def counted(number: int, what: str) -> str:
    """Return a number of things: ``1 spill``, ``2 spills``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
