"""Read a page back: elements, links, charts with their exact times."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "br", "link", "img", "input", "hr", "wbr"})


@dataclass
class Element:
    """A tag with its attributes, text and children."""

    tag: str
    attrs: dict[str, str | None]
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def walk(self) -> Iterator["Element"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, tag: str, word: str = "") -> list["Element"]:
        """Return the descendants of a kind, in document order."""
        return [
            item
            for item in self.walk()
            if item.tag == tag and (not word or word in (item.attrs.get("class") or "").split())
        ]

    @property
    def whole_text(self) -> str:
        return self.text + "".join(child.whole_text for child in self.children)


class _Reader(HTMLParser):
    """Fails where tags do not pair."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute: {names}"
        item = Element(tag, dict(attrs))
        self.open[-1].children.append(item)
        if tag not in VOID:
            self.open.append(item)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].text += data


def parse(page: str) -> Element:
    """Return the root of a page whose tags all pair."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root


def bars_of(path: Element) -> list[tuple[int, int]]:
    """Return (first, end) of each bar of a path, read from its commands."""
    found: list[tuple[int, int]] = []
    here = 0
    for kind, numbers in re.findall(r"([Mmh])([-\d. ]+)", path.attrs["d"] or ""):
        first = int(numbers.split()[0])
        if kind == "h":
            found.append((here, here + first))
            here += first
        else:
            here = first if kind == "M" else here + first
    return found


def boxes_of(path: Element) -> list[tuple[int, int, int, int]]:
    """Return (left, right, top, bottom) of each box of a path."""
    found: list[tuple[int, int, int, int]] = []
    x = y = 0
    pattern = r"([Mm])(-?\d+) (-?\d+)h(-?\d+)v(-?\d+)h(-?\d+)z"
    for kind, dx, dy, width, height, back in re.findall(pattern, path.attrs["d"] or ""):
        assert int(back) == -int(width)
        x, y = (int(dx), int(dy)) if kind == "M" else (x + int(dx), y + int(dy))
        found.append((x, x + int(width), y, y + int(height)))
    return found
