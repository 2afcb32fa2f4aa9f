"""The environment that the configuration reads: a `.env` beside config.yaml, and `${NAME}` in its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import structlog

from agent.errors import ConfigError

log = structlog.get_logger()

YamlPath = tuple[str | int, ...]
Needed = Callable[[YamlPath], bool]
"""Whether the value at a path is used, so that a missing variable there is an error."""

_ASSIGNMENT = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*)", re.ASCII)
_VALUE = re.compile(r"""(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<plain>(?:[^'"\s].*?)?))\s*(?:(?:^|\s)\#.*)?""")
_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)\}", re.ASCII)
_SECRETS = frozenset({"api_key", "app_token", "bot_token", "signing_secret", "token"})
"""Keys whose value may only be a reference, so that no secret ends up in a file that is shared."""


def load_dotenv(path: Path, environ: MutableMapping[str, str]) -> None:
    """Add the variables of a `.env` that are not set yet; the real environment wins.

    Understands `NAME=value`, `export`, quotes and comments; ConfigError names the line it does not understand, never
    its text. A file that others may read is reported.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    if path.stat().st_mode & 0o077:
        log.warning("dotenv_readable_by_others", path=str(path), remedy=f"chmod 600 {path}")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        assignment = _ASSIGNMENT.fullmatch(line.strip())
        value = _VALUE.fullmatch(assignment["value"]) if assignment else None
        if assignment is None or value is None:
            raise ConfigError(f"{path}, line {number}: write NAME=value.")
        environ.setdefault(assignment["name"], value["single"] or value["double"] or value["plain"] or "")


def resolve(tree: Any, environ: Mapping[str, str], needed: Needed, path: YamlPath = ()) -> Any:
    """The tree with every `${NAME}` replaced; one that is missing stays as it is where nobody needs it."""
    if isinstance(tree, dict):
        return {key: resolve(value, environ, needed, (*path, key)) for key, value in tree.items()}
    if isinstance(tree, list):
        return [resolve(value, environ, needed, (*path, index)) for index, value in enumerate(tree)]
    if not isinstance(tree, str):
        return tree
    if path and path[-1] in _SECRETS and not _REFERENCE.fullmatch(tree):
        raise ConfigError(f"{dotted(path)}: a secret is read from the environment only; write ${{NAME}}.")
    return _REFERENCE.sub(lambda reference: _value(reference, environ, needed, path), tree)


def dotted(path: YamlPath) -> str:
    """A YAML path as people write it."""
    return ".".join(map(str, path))


def _value(reference: re.Match[str], environ: Mapping[str, str], needed: Needed, path: YamlPath) -> str:
    name = reference[1]
    if value := environ.get(name):
        return value
    if needed(path):
        raise ConfigError(f"{dotted(path)}: {name} is not set; put it into the environment or into .env.")
    return reference[0]
