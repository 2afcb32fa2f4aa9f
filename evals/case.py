"""The format of a case: what lies in the workspace, what the model says, what people do, and what must come of it.

A file of `cases/` holds a list of them. Paths are relative to the workspace; `../x` lies beside it, where nothing may
change, as nothing may inside, that `expect.files` does not name. In `workspace` and `script` `$WORLD` is the absolute
folder that holds both.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

from agent.domain import ApprovalStatus, CallStatus, TaskStatus
from agent.durations import Seconds
from agent.errors import ConfigError
from agent.scripted import Scene, ScriptedTurn
from bot.config_file import explained, read_yaml

Words = tuple[str, ...]


class Strict(BaseModel):
    """A part of a case; a key that is not listed is refused, so that a misspelt expectation cannot pass unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MadeFile(Strict):
    """A file that is more than UTF-8 text: exactly one of the keys without a default says what it is."""

    text: str | None = None
    link: str | None = None
    hard_link: str | None = None
    pipe: Literal[True] | None = None
    sheets: dict[str, list[list[Any]]] | None = None
    encoding: str = "utf-8"
    times: int = 1

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = (self.text, self.link, self.hard_link, self.pipe, self.sheets)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("give one of text, link, hard_link, pipe, sheets")
        return self


def _text_or_keys(value: Any) -> str:
    """Chosen by shape, so that an error names the key that is wrong and not the other form."""
    return "as text" if isinstance(value, str) else "as keys"


SomeFile = Annotated[Annotated[str, Tag("as text")] | Annotated[MadeFile, Tag("as keys")], Discriminator(_text_or_keys)]
"""The text of a UTF-8 file, or what else it is."""


class Ask(Strict):
    """Somebody asks: at the terminal or through a webhook, perhaps in the session of the task before.

    `refused`: words of the sentence with which the request must be refused.
    """

    ask: str
    origin: Literal["cli", "webhook"] = "cli"
    files: dict[str, str] = {}
    follow_up: bool = False
    refused: str | None = None


class Press(Strict):
    """A person decides a card, by default the newest; `refused` is the code with which the press must be refused.

    `at_once` presses are made at the same moment, of which one may win.
    """

    press: Literal["approve", "deny"]
    items: tuple[int, ...] = ()
    reason: str = ""
    by: Literal["operator", "stranger"] = "operator"
    card: int | None = None
    at_once: int = Field(default=1, ge=1)
    refused: str | None = None


class Change(Strict):
    """Somebody else changes files meanwhile; null removes one."""

    change: dict[str, SomeFile | None]


class Wait(Strict):
    """Time passes."""

    wait: Seconds


class Cancel(Strict):
    """The requester stops the newest task."""

    cancel: Literal[True]


class AskAgain(Strict):
    """Somebody asks again for what expired."""

    ask_again: Literal[True]


class Restart(Strict):
    """The process ends and a new one takes over the same rows."""

    restart: Literal[True]


_STEPS = ("ask", "press", "change", "wait", "cancel", "ask_again", "restart")


def _kind(step: Any) -> str | None:
    return next((f"{kind} step" for kind in _STEPS if isinstance(step, dict) and kind in step), None)


Step = Annotated[
    Annotated[Ask, Tag("ask step")]
    | Annotated[Press, Tag("press step")]
    | Annotated[Change, Tag("change step")]
    | Annotated[Wait, Tag("wait step")]
    | Annotated[Cancel, Tag("cancel step")]
    | Annotated[AskAgain, Tag("ask_again step")]
    | Annotated[Restart, Tag("restart step")],
    # Chosen by its key, so that an error names what is wrong inside that step and not six other forms.
    Discriminator(_kind, custom_error_type="step", custom_error_message=f"a step is one of {', '.join(_STEPS)}"),
]


class ExpectedCall(Strict):
    """A call as it must stand in the ledger; `arguments` null and no words mean any."""

    tool: str
    status: CallStatus
    arguments: dict[str, Any] | None = None
    result: Words = ()
    result_lacks: Words = ()


class ExpectedCard(Strict):
    """A card as it must have been shown; `items` is how many calls it asks about."""

    status: ApprovalStatus
    items: int = 1
    shows: Words = ()
    hides: Words = ()


class ExpectedFile(Strict):
    """Parts of a file instead of the whole; `cells` ("Sheet!B2") are values, `{formula: =A1}` is a formula."""

    encoding: str = "utf-8"
    exactly: str | None = None
    contains: Words = ()
    lacks: Words = ()
    cells: dict[str, Any] = {}


SeenFile = Annotated[
    Annotated[str, Tag("as text")] | Annotated[ExpectedFile, Tag("as keys")], Discriminator(_text_or_keys)
]


class Expect(Strict):
    """What must hold at the end: the ends of all tasks, oldest first, with all their calls and cards, in order.

    A file is its whole text, null when it must not be there, or its parts; `artifacts` are the paths of the files that
    were delivered. The words are those of the last answer.
    """

    tasks: tuple[TaskStatus, ...] = ("done",)
    error_code: str | None = None
    calls: tuple[ExpectedCall, ...]
    cards: tuple[ExpectedCard, ...] = ()
    files: dict[str, SeenFile | None] = {}
    artifacts: Words = ()
    answer: Words = ()
    answer_lacks: Words = ()


class Case(Strict):
    """One case. `says` is the fact it shows, `settings` stand over the configuration it runs with.

    `script` is what the model says, in the format of agent/scripted.py. The tag `real`: it also makes sense with a
    real model, which is judged by tasks, files and words, not by its calls.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    says: str
    tags: frozenset[Literal["security", "approval", "files", "tables", "loop", "memory", "skills", "real"]]
    workspace: dict[str, SomeFile] = {}
    settings: dict[str, Any] = {}
    script: tuple[Scene, ...] | tuple[ScriptedTurn, ...]
    steps: tuple[Step, ...] = Field(min_length=1)
    expect: Expect

    @model_validator(mode="after")
    def _asks_first(self) -> Self:
        if not isinstance(self.steps[0], Ask):
            raise ValueError("the first step is an ask")  # noqa: TRY004 - pydantic reports a ValueError
        return self


def load_cases(folder: Path) -> list[Case]:
    """Every case of a folder's YAML files, in the order of files; ConfigError names file, case and key."""
    cases = [case for path in sorted(folder.glob("*.yaml")) for case in _cases(path)]
    ids = [case.id for case in cases]
    if twice := next((name for name in ids if ids.count(name) > 1), None):
        raise ConfigError(f"Two cases have the id {twice!r}; name one otherwise.")
    if not cases:
        raise ConfigError(f"There is no case in {folder}; evals run from a checkout of the repository.")
    return cases


def _cases(path: Path) -> Iterator[Case]:
    try:
        tree = read_yaml(path)
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error}") from None
    if list(tree) != ["cases"] or not isinstance(tree["cases"], list):
        raise ConfigError(f"{path.name}: must hold one list, `cases:`.")
    for number, case in enumerate(tree["cases"], start=1):
        try:
            yield Case.model_validate(case)
        except ValidationError as error:
            name = case.get("id", number) if isinstance(case, dict) else number
            raise ConfigError(f"{path.name}, case {name}: {explained(error, case)}") from None
