"""Runs the cases, several at a time, and says which of them held; judged by code alone."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from agent.errors import BadInput, SignoffError
from bot.cli import display
from bot.config import Config, load_config
from bot.config_file import read_yaml
from bot.logs import LogSettings, start_logging
from evals.case import Case, load_cases
from evals.judge import misses
from evals.play import play
from evals.world import DATA, WORKSPACE, World

CASES = Path(__file__).parent / "cases"
AT_ONCE = 8
"""Cases under way at the same time: they mostly wait for the disk and for child processes."""
SECONDS, REAL_SECONDS = 60, 600
"""After which a case is given up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What became of a case; `reason` says what did not hold."""

    id: str
    tags: list[str]
    passed: bool
    reason: str


def main(*, real: str | None, tag: str | None, as_json: bool, config: Path, folder: Path = CASES) -> int:
    """Run and print a table or JSON; 1 when a case was missed."""
    start_logging(LogSettings(level="error"), load_config(config).secrets() if real else ())
    results = asyncio.run(run({tag} if tag else set(), real, config, folder))
    if as_json:
        display.print_json({"cases": [asdict(result) for result in results]})
    else:
        rows = [(result.id, ", ".join(result.tags), _word(result), result.reason) for result in results]
        display.print_table(("case", "tags", "", "what did not hold"), rows)
        print(f"\n{sum(result.passed for result in results)} of {len(results)} cases held")
    return 0 if all(result.passed for result in results) else 1


async def run(tags: Collection[str], real: str | None, config: Path, folder: Path = CASES) -> list[Result]:
    """Run the cases with all of these tags; with `real` those that make sense on that model of a configuration."""
    wanted = {*tags, "real"} if real else set(tags)
    cases = [case for case in load_cases(folder) if wanted <= case.tags]
    if not cases:
        raise BadInput(f"No case has the tag {' and '.join(sorted(wanted))}.", field="tag")
    model = _model(config, real) if real else None
    slots = asyncio.Semaphore(AT_ONCE)

    async def held(case: Case) -> Result:
        async with slots:
            return await judged(case, model)

    return await asyncio.gather(*map(held, cases))


async def judged(case: Case, model: Mapping[str, Any] | None = None) -> Result:
    """Play a case in a temporary folder and judge it; `model` is what stands in the configuration for a real one."""
    seconds = SECONDS if model is None else REAL_SECONDS
    with TemporaryDirectory(prefix="signoff-eval-") as folder:
        world = World(Path(folder))
        world.build(case)
        try:
            async with asyncio.timeout(seconds):
                config = configured(case, world, model)
                observed, missed = await play(case, world, config, real=model is not None)
        except TimeoutError:
            missed = [f"it was not over after {seconds} seconds"]
        except SignoffError as error:
            missed = [f"{type(error).__name__}: {error}"]
        else:
            missed += misses(case.expect, observed, real=model is not None)
    return Result(id=case.id, tags=sorted(case.tags), passed=not missed, reason="; ".join(missed))


def configured(case: Case, world: World, model: Mapping[str, Any] | None) -> Config:
    """Write the case's config.yaml and load it as the product does."""
    script = {"model": "script", "models": {"script": {"model": f"scripted/{world.root}/script.yaml"}}}
    workspace = {"path": WORKSPACE, "channels": ["*"]}
    tree = _over({"bot": {"data_dir": DATA}, "agent": script, "workspaces": {"files": workspace}}, case.settings)
    if model is not None:
        tree["agent"] = {**tree["agent"], **model}
    path = world.root / "config.yaml"
    path.write_text(yaml.safe_dump(tree, allow_unicode=True), encoding="utf-8")
    return load_config(path)


def _model(config: Path, name: str) -> dict[str, Any]:
    """`agent.model` and `agent.models` for a model of a configuration, its secrets still in the environment."""
    known = load_config(config).agent.models  # whatever is wrong in the file is said here, and its .env is loaded
    if name not in known:
        raise BadInput(f"{config} has no model {name!r} under agent.models (there are: {', '.join(known)}).")
    return {"model": name, "models": (read_yaml(config).get("agent") or {}).get("models", {})}


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One tree laid over another."""
    both = {
        key: _over(below[key], value) if isinstance(value, dict) and isinstance(below.get(key), dict) else value
        for key, value in above.items()
    }
    return {**below, **both}


def _word(result: Result) -> str:
    return "held" if result.passed else "MISSED"
