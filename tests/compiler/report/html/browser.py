"""Chromium without a screen: opens a page, asks it questions, looks at its pixels.

It comes with Qt (``pip install 'accnn[browser]'``). Every look is a process of its own, so that
nothing of Qt lives in that of the tests.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SECONDS = 60
_FLAGS = "--no-sandbox --disable-gpu --blink-settings=preferredColorScheme={scheme}"


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of a page.

    Attributes:
        console: Messages of its console.
        answers: What the scripts returned, by name, in the order of asking.
        colours: How many colours the picture has.
    """

    console: tuple[str, ...]
    answers: Mapping[str, Any]
    colours: int


@cache
def why_not() -> str:
    """Return why there is no browser here; empty where there is one."""
    if importlib.util.find_spec("PySide6") is None:
        return "no browser: pip install 'accnn[browser]'"
    try:
        look("data:text/html,<p>here</p>", {"text": "document.body.textContent"})
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        return f"the browser does not start: {error}"
    return ""


def look(
    page: Path | str, questions: Mapping[str, str], *, width: int = 1280, dark: bool = False
) -> Look:
    """Open a page and put questions to it.

    Args:
        page: File, or an address that has no file.
        questions: Scripts by name, each an expression; what one changes the next one sees.
        width: Of the window [pixel].
        dark: Whether the system prefers dark colours.

    Raises:
        subprocess.SubprocessError: The browser broke down, or took too long.
    """
    address = page if isinstance(page, str) else page.absolute().as_uri()
    asked = json.dumps({"address": address, "width": width, "questions": dict(questions)})
    told = subprocess.run(
        [sys.executable, __file__],
        input=asked,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        env={
            **os.environ,
            "QT_QPA_PLATFORM": "offscreen",
            "QTWEBENGINE_DISABLE_SANDBOX": "1",
            "QTWEBENGINE_CHROMIUM_FLAGS": _FLAGS.format(scheme=0 if dark else 1),
        },
    )
    found = json.loads(told.stdout.splitlines()[-1])
    return Look(tuple(found["console"]), found["answers"], found["colours"])


def _main() -> None:
    from PySide6.QtCore import QTimer, QUrl
    from PySide6.QtWebEngineCore import QWebEnginePage
    from PySide6.QtWebEngineWidgets import QWebEngineView
    from PySide6.QtWidgets import QApplication

    asked = json.load(sys.stdin)
    console: list[str] = []
    answers: dict[str, Any] = {}
    waiting = list(asked["questions"].items())

    class Page(QWebEnginePage):
        def javaScriptConsoleMessage(self, level: Any, text: str, line: int, source: str) -> None:
            console.append(f"{level.name} {source}:{line}: {text}")

    application = QApplication([])
    view = QWebEngineView()
    page = Page(view)
    view.setPage(page)
    view.resize(asked["width"], 900)
    view.show()

    def ask() -> None:
        if not waiting:
            QTimer.singleShot(500, finish)
            return
        name, script = waiting.pop(0)

        def answered(value: str) -> None:
            answers[name] = json.loads(value or "null")
            QTimer.singleShot(50, ask)

        page.runJavaScript(f"JSON.stringify(({script}) ?? null)", answered)

    def finish() -> None:
        image = view.grab().toImage()
        size = image.size()
        pixels = (
            image.pixel(x, y) for x in range(0, size.width(), 3) for y in range(0, size.height(), 3)
        )
        found = {"console": console, "answers": answers, "colours": len(set(pixels))}
        print(json.dumps(found))
        application.quit()

    view.loadFinished.connect(lambda _: ask())
    view.load(QUrl(asked["address"]))
    application.exec()


if __name__ == "__main__":
    _main()
