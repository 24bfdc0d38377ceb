"""A chooser that keeps what passes chose in memory."""

from accnn.passes.base import Choice


class Remembered:
    """A choice in memory, and those that were found since; a chooser."""

    def __init__(self, choice: Choice | None = None) -> None:
        self.choice = choice
        self.kept: list[Choice] = []

    def __call__(self, item, module, seed, follow, search):
        made = None if self.choice is None else follow(self.choice)
        if made is None:
            choice, made = search()
            self.kept.append(choice)
        return made
