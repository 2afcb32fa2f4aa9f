"""The model that needs no key: it plays what the script says, and its demo says only what the tools measured."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ConfigError, ModelRefused, ModelUnavailable
from agent.ports.models import ChatMessage, ModelEvent, ProposedCall, Restarted, TextDelta, Turn
from agent.scripted import ScriptedModel
from tests.clock import FakeClock
from tests.servers.llm_rules import refuse

NAMES = ("list_files", "expand_skill", "analyze_table", "write_file", "write_sheet")
TOOLS = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": {"type": "object"}}}
    for name in NAMES
]
ScriptFile = Callable[[str], ScriptedModel]


@pytest.fixture
def script(tmp_path: Path) -> ScriptFile:
    def write(text: str) -> ScriptedModel:
        path = tmp_path / "script.yaml"
        path.write_text(text, encoding="utf-8")
        return ScriptedModel.load(f"scripted/{path}", FakeClock(), path="agent.models.m.model")

    return write


def user(text: str) -> ChatMessage:
    return {"role": "user", "content": text}


async def played(model: ScriptedModel, messages: Sequence[ChatMessage]) -> list[ModelEvent]:
    return [event async for event in model.stream(messages, TOOLS)]


async def turn(model: ScriptedModel, messages: Sequence[ChatMessage]) -> Turn:
    last = (await played(model, messages))[-1]
    assert isinstance(last, Turn)
    return last


def after(messages: Sequence[ChatMessage], said: Turn, result: Callable[[ProposedCall], str]) -> list[ChatMessage]:
    """The messages once the calls of a turn are answered; a strict provider takes them."""
    assistant: ChatMessage = {"role": "assistant", "content": said.text}
    if said.calls:
        assistant["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in said.calls
        ]
    results = [{"role": "tool", "tool_call_id": call.call_id, "content": result(call)} for call in said.calls]
    grown = [*messages, assistant, *results]
    assert not said.calls or refuse({"model": "m", "stream": True, "messages": grown}) is None
    return grown


async def test_the_turns_of_a_task(script: ScriptFile) -> None:
    """Which turn is played is read from the messages, so another process goes on at the same place."""
    text = "- {text: one, calls: [{name: list_files, arguments: {path: .}}]}\n- {text: two, expect: a.txt}\n"
    messages = [user("old"), {"role": "assistant", "content": "old answer"}, user("go")]
    first = await turn(script(text), messages)
    assert (first.text, first.finish_reason) == ("one", "tool_calls")
    assert [(call.name, json.loads(call.arguments)) for call in first.calls] == [("list_files", {"path": "."})]
    messages = after(messages, first, lambda _: "a.txt")
    second = await turn(script(text), messages)
    assert (second.text, second.finish_reason, second.usage.cost_usd) == ("two", "stop", Decimal(0))
    with pytest.raises(ModelRefused, match="no turn 3"):
        await turn(script(text), after(messages, second, lambda _: ""))


async def test_scenes_are_chosen_by_the_request(script: ScriptFile) -> None:
    """The first scene whose `when` is in the last message of the user is played."""
    model = script("- {when: cat, turns: [{text: meow}]}\n- {turns: [{text: what}]}\n")
    assert (await turn(model, [user("a cat")])).text == "meow"
    assert (await turn(model, [user("cat"), {"role": "assistant", "content": "meow"}, user("dog")])).text == "what"


async def test_raw_arguments_and_reason(script: ScriptFile) -> None:
    """Arguments written as text go out byte for byte, under the reason that the script gives."""
    model = script('- calls: [{name: write_file, arguments: \'{"path": "x\'}]\n  finish_reason: length\n')
    got = await turn(model, [user("go")])
    assert (got.calls[0].arguments, got.finish_reason) == ('{"path": "x', "length")


async def test_pieces_and_a_cut(script: ScriptFile) -> None:
    """Text comes in as many pieces as asked for; a cut takes back what was shown and then comes whole."""
    got = await played(script("- {text: one two three, chunks: 3, error: cut}\n"), [user("go")])
    restart = got.index(Restarted())
    pieces = [event.text for event in got[restart:] if isinstance(event, TextDelta)]
    assert got[0] == TextDelta(text="one two")
    assert len(pieces) == 3
    assert isinstance(got[-1], Turn)
    assert "".join(pieces) == got[-1].text == "one two three"


async def test_errors(script: ScriptFile) -> None:
    """A script can fail in the two ways that end a task, and refuses when what it expects did not come."""
    with pytest.raises(ModelUnavailable):
        await turn(script("- {error: unavailable}\n"), [user("go")])
    with pytest.raises(ModelRefused):
        await turn(script("- {error: refused}\n"), [user("go")])
    with pytest.raises(ModelRefused, match="expects 'stop'"):
        await turn(script("- {text: x, expect: stop}\n"), [user("go")])
    model = script("- {text: x, knows: Bonn}\n")
    assert (await turn(model, [user("The office is in Bonn."), user("go")])).text == "x"
    with pytest.raises(ModelRefused, match="was not told 'Bonn'"):
        await turn(model, [user("go")])


@pytest.mark.parametrize("text", ["- {txt: one}\n", "a: b: c\n", "just text\n", "- {text: x, error: meteor}\n"])
def test_a_script_that_cannot_be_played(script: ScriptFile, text: str) -> None:
    """A broken script is refused at the start, with the key of the configuration that names it."""
    with pytest.raises(ConfigError, match=r"agent\.models\.m\.model: the script"):
        script(text)


# --- the demo ---

DEMO = ScriptedModel.load("scripted/demo", FakeClock(), path="agent.models.demo.model")
ANALYSIS: dict[str, Any] = {
    "file": "invoices.csv",
    "sheet": None,
    "rows": 12,
    "counted": 11,
    "columns": {"vendor": "Vendor", "amount": "Amount", "date": None, "currency": None, "number": None},
    "multiplier": "3",
    "totals": [{"vendor": "Nord | Licht", "currency": "EUR", "count": 4, "total": "1200.50"}],
    "total": [
        {"currency": "EUR", "count": 11, "total": "5731.40", "refunds": "-120.00", "repeated": "480.00",
         "total_without_repeats": "5251.40"}
    ],
    "outliers": [
        {"row": 7, "vendor": "Acme", "currency": "EUR", "amount": "4800.00", "typical": "420.00", "multiplier": "11.4",
         "compared_with": "vendor"}
    ],
    "refunds": [{"row": 9, "vendor": "Beta", "currency": "EUR", "amount": "-120.00", "date": None}],
    "duplicates": [
        {"rows": [3, 8], "vendor": "Acme", "currency": "EUR", "amount": "480.00", "date": None, "number": "R-17",
         "certain": True, "reason": "same vendor, amount, date and number"},
        {"rows": [4, 5], "vendor": "Acme", "currency": None, "amount": None, "date": None, "number": None,
         "certain": False, "reason": "same number"},
    ],
    "summary_rows": [{"row": 14, "label": "Total", "amount": "5731.40"}],
    "problems": [{"row": 11, "column": "Amount", "text": "n/a", "reason": "no amount"}],
    "ambiguous": [{"column": "Date", "example": "03/04/2026", "reading": "day first", "alternative": "month first"}],
    "notes": ["The file is UTF-8 with a BOM."],
    "left_out": {"totals": 0, "problems": 3},
}  # fmt: skip
ASKED = [{"role": "system", "content": "x"}, user("Summarise the invoices and quotes in this folder")]
LISTING = "invoices.csv  1.2 KB\n  quotes/our offers 2026.xlsx (9 KB)\n- notes.md\nreports/old.csv\nbroken.csv\n"


def results(call: ProposedCall) -> str:
    """What the tools would answer."""
    match call.name, json.loads(call.arguments).get("path"):
        case "list_files", _:
            return LISTING
        case "analyze_table", "broken.csv":
            return "broken.csv has no amount column.\nIt has: a, b"
        case "analyze_table", path:
            return f"A summary.\n\n```json\n{json.dumps({**ANALYSIS, 'file': path})}\n```"
        case "write_file" | "write_sheet", path:
            return f"Wrote {path}: 12 bytes."
    return "# Invoice summary"


async def flagship(result: Callable[[ProposedCall], str]) -> list[Turn]:
    """The turns until the closing answer."""
    messages: list[ChatMessage] = ASKED
    turns = [await turn(DEMO, messages)]
    while turns[-1].calls:
        messages = after(messages, turns[-1], result)
        turns.append(await turn(DEMO, messages))
    return turns


async def test_the_flagship() -> None:
    """It lists, expands the skill, measures each table it was shown, and proposes both files in one turn."""
    turns = await flagship(results)
    assert [[call.name for call in said.calls] for said in turns] == [
        ["list_files", "expand_skill"],
        ["analyze_table"] * 3,
        ["write_file", "write_sheet"],
        [],
    ]
    paths = [json.loads(call.arguments)["path"] for call in turns[1].calls]
    assert paths == ["invoices.csv", "quotes/our offers 2026.xlsx", "broken.csv"]
    closing = turns[-1].text
    assert "invoices.csv: 11 of 12 rows, 5731.40 EUR (5251.40 without repeated documents)" in closing
    for found in (
        "Outlier",
        "4800.00",
        "Repeated",
        "rows 3 and 8",
        "Refund",
        "-120.00",
        "day first",
        "3 more entries of problems",
        "no amount column",
    ):
        assert found in closing
    assert "Written: reports/invoice-summary.md, reports/invoice-summary.xlsx" in closing


async def test_no_figure_of_its_own() -> None:
    """Every figure of the report is one of the tools' results: other results, other figures."""
    writes = (await flagship(results))[2].calls
    known = json.dumps(ANALYSIS) + LISTING
    shown = json.loads(writes[0].arguments)["content"] + json.dumps(json.loads(writes[1].arguments)["sheets"])
    assert [figure for figure in re.findall(r"\d[\d.]*\d", shown) if figure not in known] == []
    other = (await flagship(lambda call: results(call).replace("1200.50", "77.25")))[2].calls
    assert [("77.25" in call.arguments, "1200.50" in call.arguments) for call in other] == [(True, False)] * 2


async def test_cells_are_typed() -> None:
    """Amounts are exact numbers in the workbook, and a vendor's name cannot break out of its cell in the text."""
    writes = (await flagship(results))[2].calls
    sheets = json.loads(writes[1].arguments)["sheets"]
    assert sheets[0]["rows"][1] == ["invoices.csv", "Nord | Licht", "EUR", 4, {"number": "1200.50"}]
    assert "| Nord \\| Licht | EUR | 4 | 1200.50 |" in json.loads(writes[0].arguments)["content"]


async def test_a_denial_is_said() -> None:
    """What was denied is named with the reason, and is not listed as written."""

    def denied(call: ProposedCall) -> str:
        return "Not run: Ann denied it. Wrong month." if call.name == "write_sheet" else results(call)

    closing = (await flagship(denied))[-1].text
    assert "Written: reports/invoice-summary.md." in closing
    assert "Not written:\n- reports/invoice-summary.xlsx: Not run: Ann denied it. Wrong month." in closing


async def test_an_edit_is_followed() -> None:
    """What a person had written under another name is told under that name."""
    told = '[Ann changed the arguments of this call before approving it:]\npath: "a" → "b"\n\nWrote b.xlsx: 12 rows.'

    def edited(call: ProposedCall) -> str:
        return told if call.name == "write_sheet" else results(call)

    closing = (await flagship(edited))[-1].text
    assert "Written: reports/invoice-summary.md, b.xlsx." in closing
    assert "Not written" not in closing


async def test_nothing_to_measure() -> None:
    """Without a table, or with none that can be read, it says so and proposes nothing."""
    no_table = await flagship(lambda call: "notes.md" if call.name == "list_files" else "x")
    assert "no table" in no_table[-1].text
    unreadable = await flagship(lambda call: "a.csv" if call.name == "list_files" else "Cannot be read.")
    assert "None of the tables could be measured" in unreadable[-1].text
    assert "a.csv: Cannot be read." in unreadable[-1].text


async def test_other_requests() -> None:
    """It lists files when asked, and for anything else says what it is."""
    messages: list[ChatMessage] = [user("Which files are here?")]
    listing = await turn(DEMO, messages)
    assert [call.name for call in listing.calls] == ["list_files"]
    assert "notes.md" in (await turn(DEMO, after(messages, listing, results))).text
    assert "demo model" in (await turn(DEMO, [user("Write me a poem")])).text
