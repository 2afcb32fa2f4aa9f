"""Rounds of load, the servers taking turns: a machine's speed moves by a third with what else it does, so that only
ratios of one round count."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from bench.fleet import Fleet
from bench.load import Sample, Target

Figure = Callable[[Sample], float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What a server does when it is its turn."""

    target: Target
    count: int
    concurrency: int = 1


class Rounds:
    """The samples of each server, one a round."""

    def __init__(self) -> None:
        self._samples: defaultdict[str, list[Sample]] = defaultdict(list)

    @classmethod
    async def run(cls, fleet: Fleet, turns: dict[str, Turn], count: int) -> Rounds:
        """Go round `count` times."""
        rounds = cls()
        for _ in range(count):
            for name, turn in turns.items():
                rounds.add(name, await fleet.send(turn.target, turn.count, turn.concurrency))
        return rounds

    def add(self, name: str, sample: Sample) -> None:
        """Put in the sample of a server's turn."""
        self._samples[name].append(sample)

    def has(self, name: str) -> bool:
        """Whether the server took part."""
        return name in self._samples

    def median(self, name: str, figure: Figure) -> float:
        """The figure's median over the rounds."""
        return statistics.median(map(figure, self._samples[name]))

    def medians(self, figure: Figure) -> dict[str, float]:
        """The median of each server."""
        return {name: self.median(name, figure) for name in self._samples}

    def ratio(self, name: str, against: str, figure: Figure) -> float:
        """The median of the rounds' ratios of two servers."""
        pairs = zip(self._samples[name], self._samples[against], strict=True)
        return statistics.median(figure(one) / figure(other) for one, other in pairs)
