"""What is wrong with the connection to Slack at the moment, as people who run the bot are told."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str | None], None]
"""Told in a sentence what is wrong, None: nothing is (any more)."""


class Condition:
    """Problems by what they are about; told when one comes and when one goes."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._problems: dict[str, str] = {}

    def fails(self, about: str, problem: str) -> None:
        """Something does not work."""
        if self._problems.get(about) != problem:
            self._problems[about] = problem
            self._tell()

    def works(self, about: str) -> None:
        """It works (again)."""
        if self._problems.pop(about, None) is not None:
            self._tell()

    def _tell(self) -> None:
        self._report(" ".join(dict.fromkeys(self._problems.values())) or None)
