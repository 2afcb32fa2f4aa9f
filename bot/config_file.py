"""A YAML file of settings: read strictly, and its problems told in one line with their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from agent.errors import ConfigError
from bot.environment import YamlPath, dotted


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys of a YAML file; ConfigError with the line of what is wrong."""
    try:
        tree = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 - a SafeLoader
    except FileNotFoundError:
        raise ConfigError(f"there is no such file in {path.parent}; name another with --config PATH.") from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}.") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise ConfigError(f"line {line} is not valid YAML: {error.problem}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"is not valid YAML: {str(error).splitlines()[0]}.") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError("must hold keys such as `agent:` and `workspaces:`.")
    # A section whose lines are all commented out reads as null.
    return {str(key): value for key, value in tree.items() if value is not None}


def explained(error: ValidationError, tree: Any) -> str:
    """The first problem of a file and how many there are; never a value, which may be a secret."""
    # An unknown key first: it is often the misspelt one that is missing elsewhere in the list.
    problems = sorted(
        error.errors(include_url=False, include_input=False), key=lambda item: item["type"] != "extra_forbidden"
    )
    more = f" ({len(problems) - 1} more after this one)" if len(problems) > 1 else ""
    first = problems[0]
    where = dotted(_in_tree(first["loc"], tree))
    match first["type"]:
        case "extra_forbidden":
            return f"{where}: there is no such key{more}."
        case "missing":
            return f"{where} is missing{more}."
        case _:
            return f"{where}: {first['msg'].removeprefix('Value error, ')}{more}."


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice; YAML libraries silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML calls it by position
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} stands there twice; one of the two has to go",
                    problem_mark=key.start_mark,
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else "")
        return super().construct_mapping(node, deep)


def _in_tree(loc: YamlPath, tree: Any) -> YamlPath:
    """The part of an error's place that is in the file: pydantic also names the branch of a union it tried."""
    path: list[str | int] = []
    for index, key in enumerate(loc):
        inside = key in tree if isinstance(tree, dict) else isinstance(tree, list) and isinstance(key, int)
        if inside:
            tree = tree[key]
        if inside or (index == len(loc) - 1 and isinstance(tree, dict) and key != "[key]"):
            path.append(key)
    return tuple(path)
