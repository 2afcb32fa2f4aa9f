"""config.yaml: what may stand in it, and one clear line for what may not."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
)

from agent.asking import CONSOLE, ApprovalsSettings
from agent.budget import BudgetSettings
from agent.chat import EVERYBODY
from agent.domain import OPERATOR, Role
from agent.errors import ConfigError
from agent.llm.settings import ModelSettings
from agent.people import PersonSettings
from agent.policy import PolicySettings
from agent.progress import ProgressSettings
from agent.rules import Rules
from agent.zones import Zone
from bot.config_file import explained, read_yaml
from bot.entrance.proxies import TrustedProxy
from bot.environment import YamlPath, load_dotenv, resolve
from bot.logs import LogSettings
from channels.admission import ChatSettings
from channels.console import ConsoleSettings
from channels.slack.settings import SlackSettings
from channels.telegram.settings import TelegramSettings
from channels.webhook import WebhookSettings
from storage.retention import RetentionSettings

DEFAULT_MODEL = "demo"
_ONLY_IN: Mapping[YamlPath, str] = {("slack", "app_token"): "socket", ("slack", "signing_secret"): "http"}
"""What a channel needs in one of its modes alone."""
_SIZE_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class Settings(BaseModel):
    """A section of the file; a key that is not listed is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _size(value: Any) -> Any:
    for unit, factor in _SIZE_UNITS.items():
        if isinstance(value, str) and value.endswith(unit) and value.removesuffix(unit).strip().isdecimal():
            return int(value.removesuffix(unit)) * factor
    return value


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", text):
        raise ValueError(f"{text!r} is no name: use a to z, 0 to 9, _ and -, at most 64 characters")
    return text


def _pattern(text: str) -> str:
    if ":" not in text:
        raise ValueError("write a pattern over channel:conversation, such as webhook:demo or slack:C012*")
    return text


Name = Annotated[str, AfterValidator(_name)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Size = Annotated[int, BeforeValidator(_size), Field(gt=0)]


class HttpSettings(Settings):
    """Where the server listens; `public_url` is how others reach it. Port 0 takes a free one.

    `trusted_proxies`: addresses or ranges whose `X-Forwarded-*` headers are believed. `max_upload`: of one file that a
    person brings along; `max_body`: of every other request.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    public_url: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")] | None = None
    trusted_proxies: tuple[TrustedProxy, ...] = ()
    max_body: Size = 2**20
    max_upload: Size = 50 * 2**20


class BotSettings(Settings):
    """The process: where its state lies and how it ends."""

    data_dir: Path = Path("data")
    timezone: Zone = "UTC"
    grace_seconds: float = Field(default=20, ge=0)
    http: HttpSettings = HttpSettings()
    log: LogSettings = LogSettings()


class StorageSettings(Settings):
    """`url` null is SQLite in `bot.data_dir`."""

    url: str | None = None
    retention: RetentionSettings = RetentionSettings()


class AgentSettings(Settings):
    """The loop: which model, how many tasks at once, when to stop, what it may do.

    `stricter`: policies by patterns over `channel:conversation`, which only tighten what else is said.
    """

    model: str = DEFAULT_MODEL
    workers: int = Field(default=64, ge=1)
    steps: int = Field(default=120, ge=1)
    progress: ProgressSettings = ProgressSettings()
    models: dict[str, ModelSettings] = {DEFAULT_MODEL: ModelSettings(model="scripted/demo")}
    budget: BudgetSettings = BudgetSettings()
    policy: PolicySettings = PolicySettings()
    stricter: dict[Pattern, PolicySettings] = {}


class ChannelsSettings(Settings):
    """The ways in."""

    webhook: WebhookSettings = WebhookSettings()
    console: ConsoleSettings = ConsoleSettings()
    slack: SlackSettings = SlackSettings()
    telegram: TelegramSettings = TelegramSettings()

    def enabled(self) -> frozenset[str]:
        """Their names."""
        return frozenset(name for name, channel in self if channel.enabled)

    def chats(self) -> dict[str, ChatSettings]:
        """The chat platforms among them."""
        return {name: channel for name, channel in self if isinstance(channel, ChatSettings) and channel.enabled}

    def open_to_all(self) -> list[str]:
        """Those that let everybody in who finds them."""
        return [name for name, chat in self.chats().items() if EVERYBODY in chat.allow]

    def closed(self) -> list[str]:
        """Those that let nobody in but people we know."""
        return [name for name, chat in self.chats().items() if not chat.allow]


_BY_DEFAULT = ChannelsSettings().enabled()


class WorkspaceSettings(Settings):
    """A folder, and which addresses work in it: shell-style patterns over `channel:conversation[/thread]`.

    An entry of `policy` goes before `agent.policy`; `approvals` says where cards are shown instead of the conversation.
    """

    path: Path
    channels: tuple[str, ...] = ()
    policy: PolicySettings = PolicySettings()
    approvals: ApprovalsSettings | None = None


class SkillsSettings(Settings):
    """Folders with skills beside the built-in ones."""

    paths: tuple[Path, ...] = ()


class Config(Settings):
    """The whole file."""

    bot: BotSettings = BotSettings()
    storage: StorageSettings = StorageSettings()
    agent: AgentSettings = AgentSettings()
    channels: ChannelsSettings = ChannelsSettings()
    people: tuple[PersonSettings, ...] = ()
    workspaces: dict[Name, WorkspaceSettings] = {}
    skills: SkillsSettings = SkillsSettings()
    _file: Path = PrivateAttr(default=Path("config.yaml"))

    @property
    def private_workspaces(self) -> Path:
        """Where those work whom no workspace's `channels` name."""
        return self.bot.data_dir / "workspaces"

    @property
    def protected(self) -> list[str]:
        """What no tool may reach, also when it lies inside a workspace."""
        return [str(self._file), str(self._file.parent / ".env"), str(self.bot.data_dir), *map(str, self.skills.paths)]

    def rules(self) -> Rules:
        """Every policy."""
        return Rules(
            agent=self.agent.policy,
            workspaces={name: workspace.policy for name, workspace in self.workspaces.items()},
            stricter=self.agent.stricter,
            people={person.name: person.policy for person in self.people},
        )

    def asked_at(self) -> dict[str, tuple[str, ...]]:
        """Where the cards of a workspace are shown, for those that say so."""
        return {name: workspace.approvals.to for name, workspace in self.workspaces.items() if workspace.approvals}

    def models_in_use(self) -> list[str]:
        """The model that tasks use, and its fallbacks."""
        return _reachable(self.agent.model, {name: model.fallback for name, model in self.agent.models.items()})

    def models_to_choose(self) -> list[str]:
        """The models that a conversation can be switched to: those whose `${NAME}` are all set."""
        return [name for name, model in self.agent.models.items() if "${" not in _written(model)]

    def secrets(self) -> list[str]:
        """Every value that must not show up in a log."""
        keys = [model.api_key.get_secret_value() for model in self.agent.models.values() if model.api_key]
        values = [value for _, channel in self.channels for _, value in channel]
        keys += [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
        password = urlsplit(self.storage.url or "").password
        return [key for key in (*keys, password) if key]


def load_config(path: Path, environ: MutableMapping[str, str] = os.environ) -> Config:
    """Read and check the file, its paths made absolute from its own folder; ConfigError in one line.

    A `.env` beside it is loaded into `environ` first.
    """
    path = path.resolve()
    try:
        tree = read_yaml(path)
        load_dotenv(path.parent / ".env", environ)
        config = _anchored(_validated(resolve(tree, environ, _Needed(tree))), path)
        for problem in (*_bad_references(config), *_same_ids(config), *_bad_folders(config)):
            raise ConfigError(problem)
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error}") from None
    return config


class _Needed:
    """Which values are used: everything but a disabled channel and a model that nobody names."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree
        models = _child(tree, "agent", "models")
        fallbacks = {name: _child(models, name).get("fallback") for name in models}
        self._models = _reachable(_child(tree, "agent").get("model", DEFAULT_MODEL), fallbacks)

    def __call__(self, path: YamlPath) -> bool:
        match path:
            case ("channels", name, *rest):
                settings = _child(self._tree, "channels", name)
                enabled, mode = settings.get("enabled", name in _BY_DEFAULT), settings.get("mode", "socket")
                return enabled is not False and _ONLY_IN.get((name, *rest), mode) == mode
            case ("agent", "models", name, *_):
                return name in self._models
            case _:
                return True


def _reachable(model: Any, fallbacks: Mapping[Any, Any]) -> list[Any]:
    """A model, its fallbacks and theirs; not checked yet, so anything may stand anywhere."""
    reached: list[Any] = [model]
    for name in reached:
        further = fallbacks.get(name) if isinstance(name, str) else None
        reached += [other for other in (further if isinstance(further, list | tuple) else ()) if other not in reached]
    return reached


def _child(tree: Any, *path: str | int) -> dict[Any, Any]:
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def _validated(tree: dict[str, Any]) -> Config:
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(explained(error, tree)) from None


def _anchored(config: Config, file: Path) -> Config:
    """The configuration with absolute paths, links resolved, seen from its file's folder."""

    def absolute(path: Path) -> Path:
        return (file.parent / path.expanduser()).resolve()

    anchored = config.model_copy(
        update={
            "bot": config.bot.model_copy(update={"data_dir": absolute(config.bot.data_dir)}),
            "agent": config.agent.model_copy(
                update={"models": {name: _script(model, absolute) for name, model in config.agent.models.items()}}
            ),
            "workspaces": {
                name: workspace.model_copy(update={"path": absolute(workspace.path)})
                for name, workspace in config.workspaces.items()
            },
            "skills": SkillsSettings(paths=tuple(map(absolute, config.skills.paths))),
        }
    )
    anchored._file = file  # noqa: SLF001 - a private attribute of pydantic has no other way in
    return anchored


def _script(model: ModelSettings, absolute: Callable[[Path], Path]) -> ModelSettings:
    """A scripted model may be a file; everything else is a name."""
    if model.provider != "scripted" or not model.model_id.endswith((".yaml", ".yml")):
        return model
    return model.model_copy(update={"model": f"scripted/{absolute(Path(model.model_id))}"})


def _written(model: ModelSettings) -> str:
    """What a reference to the environment may stand in."""
    return f"{model.api_key.get_secret_value() if model.api_key else ''}{model.api_base or ''}"


def _bad_references(config: Config) -> Iterator[str]:
    model, models = config.agent.model, config.agent.models
    if model not in models:
        yield f"agent.model: there is no model {model!r} under agent.models (there are: {', '.join(models)})."
    names = [person.name for person in config.people]
    for index, name in enumerate(names):
        if name.casefold() in {other.casefold() for other in names[:index]}:
            yield f"people.{index}.name: there is a person named {name} already; give each their own name."
    deciders = [*get_args(Role), OPERATOR.name, *names]
    for where, name in _asked(config):
        if name not in deciders:
            yield f"{where}: there is no role or person {name!r} (there are: {', '.join(deciders)})."
    telegram = config.channels.telegram
    if telegram.enabled and telegram.mode == "webhook" and config.bot.http.public_url is None:
        yield "channels.telegram.mode: a webhook needs bot.http.public_url, where Telegram reaches this server."


def _same_ids(config: Config) -> Iterator[str]:
    owners: dict[str, str] = {}
    for index, person in enumerate(config.people):
        for identity in person.identities:
            channel, _, who = identity.partition(":")
            if identity in owners:
                yield f"people.{index}.{channel}: {who} is {owners[identity]} already; an id belongs to one person."
            owners[identity] = person.name


def _asked(config: Config) -> Iterator[tuple[str, str]]:
    """Every role and person that is asked, with the place."""
    policies = {
        "agent.policy": config.agent.policy,
        **{f"agent.stricter.{pattern}": policy for pattern, policy in config.agent.stricter.items()},
        **{f"people.{index}.policy": person.policy for index, person in enumerate(config.people)},
        **{f"workspaces.{name}.policy": workspace.policy for name, workspace in config.workspaces.items()},
    }
    for where, policy in policies.items():
        yield from ((f"{where}.{power}", name) for power, name in policy.named())
    for workspace, to in config.asked_at().items():
        yield from (
            (f"workspaces.{workspace}.approvals.to.{index}", entry)
            for index, entry in enumerate(to)
            if ":" not in entry and entry != CONSOLE
        )


def _bad_folders(config: Config) -> Iterator[str]:
    for index, path in enumerate(config.skills.paths):
        if not path.is_dir():
            yield f"skills.paths.{index}: there is no folder {path}; make it or remove the line."
    homes = {name: workspace.path for name, workspace in config.workspaces.items()}
    for name, home in homes.items():
        where = f"workspaces.{name}.path"
        if not home.is_dir():
            yield f"{where}: there is no folder {home}; make it or change the path."
        for other, path in (homes | {"tasks without one of their own": config.private_workspaces}).items():
            if other != name and home.is_relative_to(path):
                yield f"{where}: {home} lies inside the workspace of {other}; give each its own folder."
