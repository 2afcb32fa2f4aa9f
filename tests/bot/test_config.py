"""config.yaml: what is accepted, and the one line for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import ConfigError
from bot.config import Config, load_config

ROOT = Path(__file__).parents[2]


def load(folder: Path, text: str, environ: dict[str, str] | None = None) -> Config:
    (folder / "config.yaml").write_text(text)
    return load_config(folder / "config.yaml", environ if environ is not None else {})


def refusal(folder: Path, text: str, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as error:
        load(folder, text, environ)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_shipped_file_starts_as_it_is() -> None:
    """The demo model, one workspace, no key needed."""
    config = load_config(ROOT / "config.yaml", {})
    assert config.models_in_use() == ["demo"]
    assert config.workspaces["demo"].path == ROOT / "demo-workspace"
    assert config.workspaces["demo"].channels == ("console:*", "webhook:demo", "cli:*")
    assert config.bot.data_dir == ROOT / "data"


def test_an_empty_file_has_the_defaults_of_the_shipped_one(tmp_path: Path) -> None:
    """What the shipped file says is what is assumed without it."""
    shipped, empty = load_config(ROOT / "config.yaml", {}), load(tmp_path, "")
    assert empty.agent.model_dump(exclude={"policy"}) == shipped.agent.model_dump(exclude={"policy"})
    assert empty.storage == shipped.storage
    assert empty.channels == shipped.channels
    assert empty.bot.http == shipped.bot.http


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bot: {http: {prot: 8080}}", "bot.http.prot: there is no such key"),
        ("bott: {}", "bott: there is no such key"),
        ("people: [{nme: Ann}]", "people.0.nme: there is no such key"),
        ("people: [{name: Admin}]", "people.0.name: 'Admin' is the name of a role or of the operator"),
        ("people: [{name: operator}]", "people.0.name: 'operator' is the name of a role or of the operator"),
        ("people: [{name: 'a:b'}]", "people.0.name: 'a:b' is no name"),
        ("people: [{name: 'Ann*'}]", "people.0.name: 'Ann*' is no name"),
        ("people: [{name: Ann}, {name: ann}]", "people.1.name: there is a person named ann"),
        ("people: [{name: Ann, roles: [boss]}]", "people.0.roles.0: "),
        ("people: [{name: Ann, timezone: Mars}]", "people.0.timezone: 'Mars' is no IANA time zone"),
        ("people: [{name: Ann, budget_day_usd: 0}]", "people.0.budget_day_usd: "),
        ("channels: {discord: {enabled: false}}", "channels.discord: there is no such key"),
        ("channels: {slack: {bot_token: xoxb-1}}", "channels.slack.bot_token: a secret is read from the environment"),
        ("channels: {slack: {enabled: true}}", "channels.slack: mode socket needs bot_token; write ${SLACK_BOT_TOKEN}"),
        ("channels: {slack: {allow: [ann]}}", "channels.slack.allow.0: 'ann' is no id"),
        ("channels: {slack: {groups: reply}}", "channels.slack.groups: "),
        ("people: [{name: Ann, slack: ann}]", "people.0.slack: 'ann' is no id: a member's begins with U or W"),
        ("people: [{name: Ann, telegram: '@ann'}]", "people.0.telegram: '@ann' is no id: a user's is a number"),
        ("people: [{name: Ann, slack: U1}, {name: Ben, slack: U1}]", "people.1.slack: U1 is Ann already"),
        ("people: [{name: A, telegram: 7}, {name: B, telegram: '7'}]", "people.1.telegram: 7 is A already"),
        ("channels: {lines: {token: '${NOWHERE}'}}", "channels.lines: there is no such key"),
        ("agent: {model: gpt}", "agent.model: there is no model 'gpt' under agent.models (there are: demo)."),
        ("agent: {models: {a: {model: scripted/demo}}}", "agent.model: there is no model 'demo'"),
        ("agent: {models: {demo: {}}}", "agent.models.demo.model is missing"),
        ("agent: {workers: many}", "agent.workers: Input should be a valid integer"),
        ("agent: {workers: 0}", "agent.workers: Input should be greater than or equal to 1"),
        ("agent: {policy: {file:write: {ask: [boss]}}}", "agent.policy.file:write: there is no role or person 'boss'"),
        ("agent: {policy: {file:write: {aks: [approver]}}}", "agent.policy.file:write.aks: there is no such key"),
        ("agent: {policy: {file:write: {ask: [approver], expires: 1y}}}", "agent.policy.file:write.expires: '1y'"),
        (
            "agent: {policy: {file:write: {ask: [approver], by: 0}}}",
            "agent.policy.file:write.by: write `other`, how many",
        ),
        (
            "agent: {stricter: {demo: {execute: deny}}}",
            "agent.stricter.demo: write a pattern over channel:conversation",
        ),
        ("agent: {stricter: {'slack:*': {exec: deny}}}", "agent.stricter.slack:*.exec: there is no such power"),
        (
            "agent: {stricter: {'a:*': {execute: {ask: [boss]}}}}",
            "agent.stricter.a:*.execute: there is no role or person",
        ),
        (
            "people: [{name: Ann, policy: {execute: {ask: [Bob]}}}]",
            "people.0.policy.execute: there is no role or person",
        ),
        (
            "workspaces: {w: {path: ., policy: {file:wirte: deny}}}",
            "workspaces.w.policy.file:wirte: there is no such power",
        ),
        (
            "workspaces: {w: {path: ., policy: {execute: {ask: [Bob]}}}}",
            "workspaces.w.policy.execute: there is no role or",
        ),
        (
            "workspaces: {w: {path: ., approvals: {to: [Bob]}}}",
            "workspaces.w.approvals.to.0: there is no role or person",
        ),
        ("workspaces: {w: {path: ., approvals: {to: []}}}", "workspaces.w.approvals.to: Tuple should have at least 1"),
        ("workspaces: {w: {path: ., approvals: {too: []}}}", "workspaces.w.approvals.too: there is no such key"),
        (
            "workspaces: {w: {path: ., approvals: {to: ['cli:x']}}}",
            "workspaces.w.approvals.to.0: 'cli:x' is no conversation",
        ),
        ("bot: {http: {port: 99999}}", "bot.http.port: Input should be less than or equal to 65535"),
        ("bot: {http: {max_body: 1 MB}}", "bot.http.max_body: "),
        ("bot: {timezone: Mars/Olympus}", "bot.timezone: 'Mars/Olympus' is no IANA time zone"),
        ("bot: {log: {level: loud}}", "bot.log.level: "),
        ("workspaces: {w: {path: ./nowhere}}", "workspaces.w.path: there is no folder"),
        ("workspaces: {W orks: {path: .}}", "workspaces.W orks: 'W orks' is no name"),
        ("skills: {paths: [./nowhere]}", "skills.paths.0: there is no folder"),
        ("- a list", "must hold keys"),
        ("bot:\n\tport: 1\n", "line 2 is not valid YAML"),
        (
            "bot: {}\nagent: {}\nbot: {}\n",
            "line 3 is not valid YAML: the key 'bot' stands there twice; one",
        ),
        ("agent: {models: {a: {model: x/y}, a: {model: x/z}}}", "the key 'a' stands there twice"),
        ("x: !!python/object/apply:os.system [id]", "line 1 is not valid YAML"),
    ],
)
def test_bad_input_is_refused_with_its_path(tmp_path: Path, text: str, said: str) -> None:
    """Each in one line that begins with the file and the place."""
    message = refusal(tmp_path, text)
    assert message.startswith("config.yaml: ")
    assert said in message


def test_a_policy_may_name_a_person(tmp_path: Path) -> None:
    """Whoever is listed under `people` can be asked by name."""
    config = load(tmp_path, "people: [{name: Ann}]\nagent: {policy: {file:write: {ask: [Ann]}}}")
    assert [person.name for person in config.people] == ["Ann"]


def test_rules_may_stand_in_four_places(tmp_path: Path) -> None:
    """Of the agent, a workspace, a conversation and a person; and where the cards of a workspace are shown."""
    config = load(
        tmp_path,
        """
people: [{name: Ann, policy: {execute: deny}}]
agent:
  policy: {file:write: {ask: [approver], by: [other, 2], always_ask: true}}
  stricter: {"webhook:demo": {"*": deny}}
workspaces:
  w: {path: ., policy: {memory:write: {ask: [Ann]}}, approvals: {to: [Ann, admin, console, "slack:C0123"]}}
""",
    )
    rules = config.rules()
    assert [[*own.root] for own in (rules.agent, rules.workspaces["w"])] == [["file:write"], ["memory:write"]]
    assert [[*own.root] for own in (rules.stricter["webhook:demo"], rules.people["Ann"])] == [["*"], ["execute"]]
    assert config.asked_at() == {"w": ("Ann", "admin", "console", "slack:C0123")}


def test_several_problems_are_counted(tmp_path: Path) -> None:
    """The first is named, the others are counted, so that nobody thinks it is the last."""
    assert "(1 more after this one)" in refusal(tmp_path, "bot: {a: 1, b: 2}")


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    """With the way to name another one."""
    with pytest.raises(ConfigError, match=r"nothing\.yaml: there is no such file .* --config PATH"):
        load_config(tmp_path / "nothing.yaml", {})


@pytest.mark.parametrize("folders", [("a", "a/b"), ("a/b", "a"), ("a", "a"), ("link", "a/b")])
def test_nested_workspaces_are_refused(tmp_path: Path, folders: tuple[str, str]) -> None:
    """Also when they are the same, or nested behind a link."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    first, second = folders
    message = refusal(tmp_path, f"workspaces: {{one: {{path: {first}}}, two: {{path: {second}}}}}")
    assert "lies inside the workspace of" in message


def test_a_workspace_among_the_private_ones_is_refused(tmp_path: Path) -> None:
    """Those are made for conversations that no workspace names."""
    (tmp_path / "data/workspaces/x").mkdir(parents=True)
    assert "lies inside" in refusal(tmp_path, "workspaces: {x: {path: data/workspaces/x}}")


MODELS = """
agent:
  model: used
  models:
    used: {model: openai/a, api_key: "${USED_KEY}", fallback: [spare]}
    spare: {model: openai/b, api_key: "${SPARE_KEY}"}
    unused: {model: openai/c, api_key: "${UNUSED_KEY}"}
"""


@pytest.mark.parametrize("missing", ["USED_KEY", "SPARE_KEY"])
def test_a_missing_secret_of_a_model_in_use_is_refused(tmp_path: Path, missing: str) -> None:
    """A fallback is in use, too."""
    keys = {"USED_KEY": "k1", "SPARE_KEY": "k2"}
    del keys[missing]
    assert f"api_key: {missing} is not set" in refusal(tmp_path, MODELS, keys)


def test_a_missing_secret_of_an_unused_model_is_none_of_our_business(tmp_path: Path) -> None:
    """Only what is used must be there; the keys never show in the configuration's text."""
    config = load(tmp_path, MODELS, {"USED_KEY": "sk-one", "SPARE_KEY": "sk-two"})
    assert {"sk-one", "sk-two"} <= set(config.secrets())
    assert "sk-one" not in repr(config)


def test_a_missing_secret_of_a_disabled_channel_is_none_of_our_business(tmp_path: Path) -> None:
    """And of an enabled one it is."""
    text = 'channels: {webhook: {enabled: %s, allow_private_callbacks: "${PRIVATE}"}}'
    assert "PRIVATE is not set" in refusal(tmp_path, text % "true")
    with pytest.raises(ConfigError, match="allow_private_callbacks: Input should be a valid boolean"):
        load(tmp_path, text % "false")


def test_dotenv_beside_the_file_is_read_first(tmp_path: Path) -> None:
    """Wherever the process was started."""
    (tmp_path / ".env").write_text("USED_KEY=k1\nSPARE_KEY=k2\n")
    (tmp_path / ".env").chmod(0o600)
    assert set(load(tmp_path, MODELS).secrets()) >= {"k1", "k2"}


def test_the_password_of_the_database_is_a_secret(tmp_path: Path) -> None:
    """It is hidden from logs like a key."""
    text = 'storage: {url: "postgresql+asyncpg://me:${PG}@db/x"}'
    assert load(tmp_path, text, {"PG": "hunter2"}).secrets() == ["hunter2"]


def test_sections_without_lines_are_empty(tmp_path: Path) -> None:
    """A section whose lines are all commented out reads as null in YAML."""
    assert load(tmp_path, "skills:\nworkspaces:\n") == load(tmp_path, "")


def test_sizes_are_read_with_their_unit(tmp_path: Path) -> None:
    """KiB and MiB are powers of two."""
    assert load(tmp_path, "bot: {http: {max_body: 64KiB}}").bot.http.max_body == 65_536
    assert load(tmp_path, "bot: {http: {max_body: 1000}}").bot.http.max_body == 1_000


@pytest.mark.parametrize(("mode", "name"), [("socket", "APP"), ("http", "SECRET")])
def test_slack_needs_the_secrets_of_its_mode_alone(tmp_path: Path, mode: str, name: str) -> None:
    """SLA-05: the others may be named and missing; one that is needed is named when it is missing."""
    tokens = 'bot_token: "${BOT}", app_token: "${APP}", signing_secret: "${SECRET}"'
    text = f"channels: {{slack: {{enabled: true, mode: {mode}, {tokens}}}}}"
    config = load(tmp_path, text, {"BOT": "xoxb-1", name: "secret"})
    assert {"xoxb-1", "secret"} <= set(config.secrets())
    assert f"{name} is not set" in refusal(tmp_path, text, {"BOT": "xoxb-1"})
    off = text.replace("enabled: true", "enabled: false")
    assert not load(tmp_path, off, {}).channels.slack.enabled
