"""What the older notation shows."""

from __future__ import annotations

import pytest
from hypothesis import given

from channels.slack.inert import escaped
from channels.slack.mrkdwn import PARSED_CHARACTERS, code_parts, mrkdwn, mrkdwn_parts
from channels.slack.parts import is_blank, utf8_bytes
from tests.channels.slack.texts import HOSTILE, notifies


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(
            "# Plan\n**go** [doc](https://e.org) ~~x~~ _i_ `**c**`",
            "*Plan*\n\n*go* <https://e.org|doc> ~x~ _i_ `**c**`",
            id="SLT-01",
        ),
        pytest.param("### **Step 1**: go", "*Step 1: go*", id="SLT-02"),
        pytest.param("**a **b** c** and *i _j_*", "*a b c* and _i j_", id="SLT-02 no marker in itself"),
        pytest.param("if a < b && c > d: <none>", "if a &lt; b &amp;&amp; c &gt; d: &lt;none&gt;", id="SLT-05"),
        pytest.param("> one\n> two", "> one\n> two", id="SLT-06"),
        pytest.param("> one\n>> two", "> one\n\n> two", id="SLT-06 quotes do not nest"),
        pytest.param("[a|b > c](https://e.org)", "<https://e.org|a│b &gt; c>", id="SLT-11"),
        pytest.param("[x](https://e.org/a|b>c)", "<https://e.org/a%7Cb%3Ec|x>", id="SLT-11 in the address"),
        pytest.param(
            "<https://e.org|site> &lt;https://e.org|site&gt; <https://q.org?a=1&b=2>",
            "<https://e.org|site> <https://e.org|site> <https://q.org?a=1&amp;b=2>",
            id="SLT-12",
        ),
        pytest.param("see @somebody on X, https://h.io/@me/1", None, id="SLT-13"),
        pytest.param("中文**粗體**中文 **a**b `**a**b`", "中文\u200b*粗體*\u200b中文 *a*\u200bb `**a**b`", id="SLT-14"),
        pytest.param("1. a\n   - b\n2. c", "1. a\n    ◦ b\n2. c", id="SLT-15"),
        pytest.param("3. a\n4. b", None, id="SLT-15 numbers as written"),
        pytest.param("- a\n  ```py\n  x\n  ```\n- b", "• a\n```\nx\n```\n• b", id="code in a list"),
        pytest.param("````\n```py\nx\n```\n````", "```\n`\u200b`\u200b`py\nx\n`\u200b`\u200b`\n```", id="SLT-16"),
        pytest.param("``a`b``", "`aˋb`", id="SLT-16 in a line"),
        pytest.param("do 3 * 8 then 2 * 4", None, id="stars of arithmetic"),
        pytest.param("**two\nlines**", "*two*\n*lines*", id="a marker ends with its line"),
        pytest.param(
            "| a | b |\n|---|---|\n| 1 | **中** |\n| <x> | |",
            "```\na    b\n───  ──\n1    中\n&lt;x&gt;\n```",
            id="a table in columns",
        ),
        pytest.param("[ok](javascript:alert(1)) [u](tg://user?id=4)", None, id="only web and mail are links"),
        pytest.param("![chart](https://e.org/c.png)", "<https://e.org/c.png|chart>", id="a picture is a link"),
        pytest.param("---", "─" * 12, id="a rule"),
    ],
)
def test_markdown_becomes_mrkdwn(text: str, shown: str | None) -> None:
    """SLT-01, -02, -05, -06, -11, -12, -13, -14, -15, -16: shown as meant where the markdown block cannot be used."""
    assert mrkdwn(text) == (shown or text)


@pytest.mark.parametrize(
    "text", ["<!channel> done", "<!here|x>", "<@U1>", "`<!here>`", "```\n<!here>\n```", "@everyone"]
)
def test_nobody_is_notified(text: str) -> None:
    """SLT-07: shown as text in every place."""
    assert not notifies(mrkdwn(text))
    assert mrkdwn(text).replace("\u200b", "").replace("&lt;", "<").replace("&gt;", ">") == text


def test_slacks_links_in_code_stay() -> None:
    """SLT-12: code is not touched, also with blank lines in it."""
    assert mrkdwn("```\na\n\n<https://e.org|x>\n```") == "```\na\n\n&lt;https://e.org|x&gt;\n```"


@given(HOSTILE)
def test_any_text_gives_parts_within_the_limit(text: str) -> None:
    """SLL-06: measured in bytes of the final text; never blank, live, or refused."""
    parts = mrkdwn_parts(text, 150)
    assert all(utf8_bytes(part) <= 150 and not is_blank(part) for part in parts)
    assert not any(map(notifies, parts))
    assert bool(parts) == (not is_blank(mrkdwn(text)))


def test_long_tables_and_code_stay_closed_blocks() -> None:
    """Every part of code is a block of its own; the header of a table stands above each."""
    rows = "\n".join(f"| item {number} | {number} |" for number in range(800))
    parts = mrkdwn_parts(f"| name | n |\n|---|---|\n{rows}\n\n```\n" + "print(1)\n" * 800 + "```")
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert sum("name" in part for part in parts) > 2


def test_a_huge_text_is_sent_as_it_is() -> None:
    """Laying it out would hold up everybody; it is still escaped and complete."""
    text = "**<a>** & b\n" * (PARSED_CHARACTERS // 10)
    assert mrkdwn(text) == escaped(text)


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "```\n\n```", "# "])
def test_nothing_is_sent_for_nothing(text: str) -> None:
    """SLL-09: no text gives no part."""
    assert mrkdwn_parts(text) == []


def test_any_text_can_be_shown_as_code() -> None:
    """SLT-16, SLL-06: a preview with a fence in it is one block, a long one several closed ones."""
    assert code_parts("a <b>\n```\n@here") == ["```\na &lt;b&gt;\n`\u200b`\u200b`\n@here\n```"]
    parts = code_parts("\n".join(f"- {number} <old>" for number in range(1_000)))
    assert all(part.startswith("```\n- ") and part.endswith("&gt;\n```") and len(part) <= 3_000 for part in parts)
    assert code_parts("") == []
