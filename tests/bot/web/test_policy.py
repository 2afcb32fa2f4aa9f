"""The page that shows who may do what."""

from __future__ import annotations

from pathlib import Path

from tests.bot.api.ruled import RULES, ruled
from tests.bot.api.site import ADMIN, Site
from tests.bot.web.visitor import logged_in


async def read(site: Site, name: str = ADMIN) -> str:
    """The page in words, as somebody reads it."""
    page = (await (await logged_in(site, name)).get("/policy")).page
    assert list(page.dangers()) == []
    return " ".join(page.text.split())


async def test_what_an_admin_reads(tmp_path: Path) -> None:
    """Workspaces with the same rules once, who decides by name, what tightens, and the holes."""
    async with ruled(tmp_path, RULES) as site:
        text = await read(site)
        assert "bobs, any other workspace" in text
        for said in (
            "Cards of annes are not shown in the conversation, but at approver",
            "edit_file, write_file, write_sheet",
            "runs without asking",
            "asks approver operator, ann, bob · within 24h",
            "always asks ann, but not whoever asks ann · within 1h",
            "agent.stricter.webhook:* memory:write never runs",
            "file:write in annes: it runs without asking anybody",
        ):
            assert said in text, said


async def test_what_a_member_reads(tmp_path: Path) -> None:
    """Their own workspace, and nothing about holes or others."""
    async with ruled(tmp_path, RULES) as site:
        text = await read(site, "bob")
        assert "bobs" in text
        assert "the policy of bob" in text
        for hidden in ("annes", "webhook:", "without asking anybody", "config.yaml"):
            assert hidden not in text, hidden


async def test_a_rule_that_nobody_meets(tmp_path: Path) -> None:
    """Says so in place of names; without holes that is said, too."""
    async with ruled(tmp_path, {"agent": {"policy": {"execute": {"ask": []}}}}) as site:
        text = await read(site)
        assert "asks nobody no such person" in text
        assert "No holes were found." not in text
    async with ruled(tmp_path, {}) as site:
        assert "No holes were found." in await read(site)
