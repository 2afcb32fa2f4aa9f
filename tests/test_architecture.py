"""The rules of the house that a linter does not know: layers, vendors, sizes, names, borders."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Rule = Callable[[str, ast.Module], Iterator[str]]
ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "agent": {"agent"},
    "channels": {"agent", "channels"},
    "tools": {"agent", "tools"},
    "storage": {"agent", "storage"},
    "bot": {"agent", "bot", "channels", "storage", "tools"},
}
FREE = {"aiohttp", "jinja2", "markdown_it", "markupsafe", "orjson", "pydantic", "structlog", "yaml"}
# A vendor's breaking change is a diff of one file or one folder: this one. What is missing here is not imported yet.
HOME = {
    "alembic": "storage/",
    "asyncpg": "storage/",
    "defusedxml": "tools/",
    "litellm": "agent/llm",
    "openpyxl": "tools/sheets/",
    "rich": "bot/cli",
    "slack_sdk": "channels/slack/calls.py",
    "sqlalchemy": "storage/",
    "sqlite3": "storage/",
    "telegram": "channels/telegram/",
    "typer": "bot/cli",
    "uvloop": "bot/",
}
# Whatever goes wrong inside one task, delivery or event must not take the others along. Nobody else catches everything.
BORDERS = {
    "agent/outbox.py": 1,
    "agent/rounds.py": 1,
    "agent/worker.py": 1,
    "bot/server.py": 1,
    "channels/slack/sockets.py": 1,
    "channels/telegram/intake.py": 1,
}
BANNED_WORDS = {"util", "utils", "helper", "helpers", "manager", "common", "misc", "base"}
BANNED_IMPORTS = {"unittest.mock", "mock", "pytest_mock"}

FILES = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_bytes())
    for folder in (*MAY_IMPORT, "tests", "bench", "evals")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not any(part.startswith(".") for part in path.parts[len(ROOT.parts) :])
}
PRODUCT = {name: tree for name, tree in FILES.items() if Path(name).parts[0] in MAY_IMPORT}


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    spec = function.args
    return [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if arg.arg not in {"self", "cls"}]


def catches_everything(node: ast.AST) -> bool:
    """Whether a handler ends whatever it is given; one that raises it again only cleans up."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    broad = any(kind is None or ast.unparse(kind) in {"Exception", "BaseException"} for kind in kinds)
    return broad and not any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def breaks_layers(name: str, tree: ast.Module) -> Iterator[str]:
    folder = Path(name).parts[0]
    for module in imports(tree):
        root = module.split(".")[0]
        if root in MAY_IMPORT:
            if root not in MAY_IMPORT[folder]:
                yield f"{folder} must not import {root}"
        elif root in HOME:
            if not name.startswith(HOME[root]):
                yield f"{root} is imported in {HOME[root]} only"
        elif root not in FREE and root not in sys.stdlib_module_names:
            yield f"{root} has no home in this test"


def breaks_sizes(name: str, tree: ast.Module) -> Iterator[str]:
    if (lines := len((ROOT / name).read_bytes().splitlines())) > 400:
        yield f"{lines} lines, at most 400"
    for function in functions(tree):
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > 50:
            yield f"{function.name} has {lines} lines, at most 50"
        if (count := len(parameters(function))) > 6:
            yield f"{function.name} has {count} parameters, at most 6"


def breaks_names(name: str, tree: ast.Module) -> Iterator[str]:
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for label in (*Path(name).with_suffix("").parts, *classes):
        yield from (f"{label}: {word!r} says nothing" for word in words(label) & BANNED_WORDS)


def breaks_imports(_: str, tree: ast.Module) -> Iterator[str]:
    for module in imports(tree):
        yield from (f"{banned} is not used here" for banned in BANNED_IMPORTS if f"{module}.".startswith(f"{banned}."))


def breaks_borders(name: str, tree: ast.Module) -> Iterator[str]:
    if (count := sum(map(catches_everything, ast.walk(tree)))) > (allowed := BORDERS.get(name, 0)):
        yield f"catches everything {count} times, {allowed} allowed"


@pytest.mark.parametrize(
    ("rule", "files"),
    [
        pytest.param(breaks_layers, PRODUCT, id="layers and vendors"),
        pytest.param(breaks_sizes, FILES, id="sizes"),
        pytest.param(breaks_names, FILES, id="names"),
        pytest.param(breaks_imports, FILES, id="no patching"),
        pytest.param(breaks_borders, PRODUCT, id="borders"),
    ],
)
def test_rule(rule: Rule, files: dict[str, ast.Module]) -> None:
    broken = [f"{name}: {complaint}" for name, tree in files.items() for complaint in rule(name, tree)]
    assert not broken, "\n" + "\n".join(broken)


def test_init_files_hold_a_docstring_only() -> None:
    inits = {name: tree for name, tree in PRODUCT.items() if name.endswith("__init__.py")}
    assert [name for name, tree in inits.items() if len(tree.body) != 1 or not ast.get_docstring(tree)] == []


def test_every_collected_file_has_a_test() -> None:
    collected = {name: tree for name, tree in FILES.items() if Path(name).name.startswith("test_")}
    assert [
        name for name, tree in collected.items() if not re.search(r"\b(test_\w+\(|Test\w+)", ast.unparse(tree))
    ] == []
