"""The commands, as processes, with and without a server beside them."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
import urllib.request
from typing import Any

import yaml

from storage.schema import HEAD
from tests.bot.conftest import ROOT, Home


def test_ask_ends_with_the_answer(home: Home) -> None:
    """Exit 0, without a server: the command runs the task itself."""
    ran = home.signoff("ask", "hi")
    assert "Hello." in ran.out
    assert ran.out.endswith("task 1: done\n")


def test_ask_that_fails_exits_with_1(home: Home) -> None:
    """The reason is in the last line."""
    assert home.signoff("ask", "fail", code=1).out.endswith("task 1: failed (model_refused)\n")


def test_ask_sends_files_along(home: Home) -> None:
    """They lie in the inbox of the workspace, and the agent reads them there."""
    (home.folder / "note.txt").write_text("remember")
    ran = home.signoff("ask", "inbox", "--file", str(home.folder / "note.txt"))
    assert "✓ read_file: " in ran.out
    assert (home.folder / "office/inbox/note.txt").read_text() == "remember"


def test_a_session_goes_on(home: Home) -> None:
    """Tasks with one session name share it; without a name each has its own."""
    for session in ("s", "s", None):
        home.signoff("ask", "hi", *(("--session", session) if session else ()))
    exported = [home.signoff("export", str(task_id), "--format", "markdown").out for task_id in (1, 2, 3)]
    assert [text.count("Hello.") for text in exported] == [1, 1, 1]
    rows = home.signoff("tasks", "--json").json["tasks"]
    assert [row["task_id"] for row in rows] == [3, 2, 1]


def test_an_approval_is_asked_at_the_prompt(home: Home) -> None:
    """Yes writes everything; the files are listed with their paths."""
    ran = home.signoff("ask", "write", typed="y\n")
    assert "Approval 1 (task 1): please decide" in ran.out
    assert f"file: {home.folder}/office/a.md" in ran.out
    assert (home.folder / "office/b.md").read_text() == "B\n"


def test_items_are_decided_one_by_one(home: Home) -> None:
    """Each in turn; what is denied is not written."""
    home.signoff("ask", "write", typed="e\nn\ny\n")
    assert sorted(path.name for path in (home.folder / "office").glob("*.md")) == ["b.md"]


def test_a_denial_at_the_prompt_has_its_reason(home: Home) -> None:
    """The agent is told and goes on."""
    home.signoff("ask", "write", typed="n\nwrong quarter\n")
    journal = home.signoff("tasks", "1", "--json").json["journal"]
    assert [entry["data"]["reason"] for entry in journal if entry["kind"] == "decision"] == ["wrong quarter"]
    assert list((home.folder / "office").glob("*.md")) == []


def test_a_card_that_nobody_may_decide_is_left_waiting(home: Home) -> None:
    """An empty list of approvers approves nothing, not even at the terminal of the owner."""
    home.configure(
        agent=yaml.safe_load("{model: m, models: {m: {model: scripted/script.yaml}}, policy: {file:write: {ask: []}}}")
    )
    ran = home.signoff("ask", "write", typed="y\n", code=3)
    assert "Nobody may approve this" in ran.out
    assert list((home.folder / "office").glob("*.md")) == []


def test_deny_mode_asks_nobody(home: Home) -> None:
    """`--approve deny` lets the agent finish without any change."""
    assert home.signoff("ask", "write", "--approve", "deny").out.endswith("task 1: done\n")
    assert list((home.folder / "office").glob("*.md")) == []


def test_a_task_waits_until_somebody_decides(home: Home) -> None:
    """Exit 3 when nobody answers; `approvals` shows it, `approve` decides, the next runner writes."""
    home.signoff("ask", "write", code=3)
    (card,) = home.signoff("approvals", "--json").json["approvals"]
    assert set(card) >= {"id", "task_id", "items", "expires_at"}
    assert [item["arguments"]["path"] for item in card["items"]] == ["a.md", "b.md"]
    assert "+B" in home.signoff("approvals").out or "B\n" in home.signoff("approvals").out
    home.signoff("approve", "1", "--item", "1")
    home.signoff("deny", "1", "--item", "2", "--reason", "not this one")
    assert "already" in home.signoff("approve", "1", code=2).err
    assert home.signoff("approvals").out == "Nothing waits for an approval.\n"
    home.signoff("ask", "hi")
    shown = home.signoff("tasks", "1", "--follow").out
    assert shown.endswith("task 1: done\n")
    assert sorted(path.name for path in (home.folder / "office").glob("*.md")) == ["a.md"]


def test_a_waiting_task_is_cancelled(home: Home) -> None:
    """Its card goes with it."""
    home.signoff("ask", "write", code=3)
    assert home.signoff("cancel", "1").out == "Task 1: cancelled.\n"
    assert home.signoff("approvals", "--json").json == {"approvals": []}
    assert home.signoff("tasks", "1", "--json").json["status"] == "cancelled"


def test_a_task_is_shown_whole(home: Home) -> None:
    """The keys that programs rely on; `export` gives the same."""
    home.signoff("ask", "write", typed="y\n")
    task = home.signoff("tasks", "1", "--json").json
    assert set(task) >= {
        "task_id", "status", "error_code", "text", "artifacts", "approvals", "journal", "cost_usd",
    }  # fmt: skip
    assert (task["status"], task["error_code"], task["text"]) == ("done", None, "Both were handled.")
    assert [artifact["path"] for artifact in task["artifacts"]] == ["a.md", "b.md"]
    assert [entry["seq"] for entry in task["journal"]] == list(range(1, len(task["journal"]) + 1))
    assert home.signoff("export", "1").json == task
    assert "Both were handled." in home.signoff("export", "1", "--format", "markdown").out


def test_everything_works_beside_a_server(home: Home) -> None:
    """`ask` enqueues and follows; decisions, cancels and new hooks reach the server without a restart."""
    with home.serving():
        assert home.signoff("ask", "write", typed="y\n").out.endswith("task 1: done\n")
        home.signoff("ask", "write", code=3)
        home.signoff("cancel", "2")
        made = home.signoff("webhooks", "create", "orders", "--workspace", "office", "--rate", "60/min", "--json").json
        assert set(made) == {"name", "url", "token"}
        answer = call(f"{made['url']}?wait=20", made["token"], {"text": "hi"})
        assert (answer["status"], answer["text"]) == ("done", "Hello.")
        new = home.signoff("webhooks", "rotate", "orders", "--json").json["token"]
        assert call(made["url"], new, {"text": "hi"})["task_id"] == 4
        assert home.signoff("webhooks", "create", "orders", code=2).err.startswith("signoff: There is a webhook orders")


def test_a_hook_that_delivers_has_a_secret(home: Home) -> None:
    """Printed once; the list shows neither secret nor token."""
    home.configure(channels={"webhook": {"allow_private_callbacks": True}})
    url = "http://127.0.0.1:9/cb"
    made = home.signoff("webhooks", "create", "x", "--deliver", "answer", "--deliver", url, "--json").json
    assert made["callback_secret"].startswith("whsec_")
    listed = home.signoff("webhooks", "list", "--json").json
    assert listed == {
        "webhooks": [
            {"name": "x", "url": made["url"], "workspace": None, "deliver": ["answer", url], "rate_per_minute": None}
        ]
    }


def test_an_interrupted_ask_puts_its_task_back(home: Home) -> None:
    """Ctrl-C ends the command soon; the next runner goes on with the task."""
    process = subprocess.Popen(home.command("ask", "slow"), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "task 1\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert home.signoff("tasks", "1", "--json").json["status"] == "queued"


def test_ask_goes_on_when_the_server_stops(home: Home) -> None:
    """It was only following; the task that the server put back is then run by the command, which says so."""
    with home.serving() as served:
        process = subprocess.Popen(home.command("ask", "slow"), cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "task 1\n"
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(timeout=20) == 0
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.count("The server has stopped; this command runs the task itself.")) == (0, 1)
    assert out.endswith("task 1: done\n")


def test_the_schema_is_brought_up_to_date(home: Home) -> None:
    """Also where there is no database yet."""
    assert home.signoff("db", "upgrade").out == f"The database is at revision {HEAD}.\n"


def test_run_greets_with_a_line_to_paste(home: Home) -> None:
    """Three lines on stdout; the token of the hook `demo` is new at each start."""
    tokens = []
    for _ in range(2):
        with home.serving() as served:
            console, webhook, ready = served.lines
            assert (console.startswith("console: http"), ready) == (True, "ready")
            command = shlex.split(webhook.removeprefix("webhook: "))
            answer = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=30).stdout)
            assert answer["status"] == "done"
            tokens += re.findall(r"Bearer (\S+)'", webhook)
    assert len(set(tokens)) == 2


def test_sigterm_drains(home: Home) -> None:
    """What runs is put back after the grace time and taken up by the next start; meanwhile no new work is taken."""
    with home.serving() as served:
        hook = home.signoff("webhooks", "create", "x", "--json").json
        task_id = call(hook["url"], hook["token"], {"text": "slow"})["task_id"]
        wait_for(hook, task_id, "running")
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(timeout=20) == 0
    assert home.signoff("tasks", str(task_id), "--json").json["status"] == "queued"
    with home.serving():
        wait_for(hook, task_id, "done")


def test_a_second_signal_ends_at_once(home: Home) -> None:
    """The task is marked as running still, and the next start takes it up."""
    home.configure(bot={"http": {"port": home.port}, "grace_seconds": 60})
    with home.serving() as served:
        hook = home.signoff("webhooks", "create", "x", "--json").json
        task_id = call(hook["url"], hook["token"], {"text": "slow"})["task_id"]
        wait_for(hook, task_id, "running")
        served.process.send_signal(signal.SIGTERM)
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(timeout=20) != 0
    assert home.signoff("tasks", str(task_id), "--json").json["status"] == "running"


def test_check_says_what_works(home: Home) -> None:
    """Exit 0 when all does, 1 when something does not; `--online` calls the model."""
    rows = home.signoff("check", "--online", "--json").json["checks"]
    assert {row["name"] for row in rows} >= {"configuration", "database", "model script", "workspace office"}
    assert all(row["ok"] for row in rows)
    assert "channel console" in {row["name"] for row in rows}
    home.signoff("webhooks", "create", "one")
    assert "1 hook at" in home.signoff("check").out
    home.configure(agent={"policy": {"file:write": {"ask": []}}})
    assert "1 hole; `signoff check --policy` tells" in home.signoff("check", code=1).out


def test_the_configuration_may_be_named_by_the_environment(home: Home) -> None:
    """`$SIGNOFF_CONFIG` stands for `--config`."""
    environ = os.environ | {"SIGNOFF_CONFIG": str(home.folder / "config.yaml")}
    command = home.command("tasks", "--json")[:-2]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=30, check=True, cwd=ROOT)
    assert json.loads(done.stdout) == {"tasks": []}


def test_no_secret_is_logged_or_printed(home: Home) -> None:
    """Neither a token nor a key of the environment, also when something fails with it."""
    (home.folder / ".env").write_text("LLM_KEY=sk-very-secret\n")
    model = {"model": "openai/x", "api_base": "http://127.0.0.1:9/sk-very-secret", "api_key": "${LLM_KEY}"}
    home.configure(
        agent={"model": "m", "models": {"m": model}}, bot={"http": {"port": home.port}, "log": {"level": "debug"}}
    )
    ran = home.signoff("check", "--online", code=1)
    assert "sk-very-secret" not in ran.err
    assert "dotenv_readable_by_others" in ran.err


def call(url: str, token: str, body: object = None) -> dict[str, Any]:
    """A POST with a body, else a GET."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers), timeout=30) as answer:
        result: dict[str, Any] = json.load(answer)
        return result


def wait_for(hook: dict[str, str], task_id: int, status: str) -> None:
    for _ in range(300):
        if call(f"{hook['url']}/tasks/{task_id}", hook["token"])["status"] == status:
            return
        time.sleep(0.05)
    raise AssertionError(f"task {task_id} is not {status}")
