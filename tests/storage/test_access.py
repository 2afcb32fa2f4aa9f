"""API tokens, login links, browser sessions and the audit, on both engines."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.ports.access import ApiToken, LoginLink, NewAudit, NewBrowserSession, NewToken
from storage.store.access import SqlAccess
from storage.store.sql import SqlStore
from tests.clock import START
from tests.storage.conftest import OpenStore

MINUTE = timedelta(minutes=1)
LINK = LoginLink(sha256="l" * 64, member="Ann", expires_at=START + 10 * MINUTE)
TOKEN = NewToken(member="Ann", label="ci", sha256="t" * 64, scopes=("tasks:read",), created_at=START)


def act(**changes: Any) -> NewAudit:
    fields: dict[str, Any] = {"at": START, "who": "Ann", "what": "login", "way": "console", "client": "127.0.0.1"}
    return NewAudit(**fields | changes)


def browser(sha256: str = "b" * 64) -> NewBrowserSession:
    return NewBrowserSession(member="Ann", sha256=sha256, csrf_token="c", seen_at=START, rotated_at=START)


@pytest.fixture
def access(store: SqlStore) -> SqlAccess:
    return SqlAccess(store.database)


async def signed_in(access: SqlAccess, sha256: str = "b" * 64) -> None:
    link = replace(LINK, sha256=f"link of {sha256}")
    await access.save_login_link(link)
    assert await access.log_in(link.sha256, browser(sha256), act())


async def test_tokens_are_made_and_revoked(access: SqlAccess) -> None:
    """Each with its row in the audit; a second revocation changes nothing."""
    made = await access.save_token(TOKEN, act(what="token_made"))
    assert made == ApiToken(token_id=made.token_id, **{name: getattr(TOKEN, name) for name in TOKEN.__slots__})
    other = await access.save_token(replace(TOKEN, member="Bob", expires_at=START + MINUTE), act(what="token_made"))
    assert await access.tokens("Ann") == [made]
    assert await access.token(other.token_id) == other
    assert await access.token(999) is None
    revoked = act(what="token_revoked", at=START + MINUTE)
    assert await access.revoke_token(made.token_id, revoked)
    assert not await access.revoke_token(made.token_id, revoked)
    assert not await access.revoke_token(999, revoked)
    assert await access.token(made.token_id) == replace(made, revoked_at=START + MINUTE)
    assert [(row.what, row.subject) for row in await access.audits()] == [
        ("token_revoked", ""),
        ("token_made", str(other.token_id)),
        ("token_made", str(made.token_id)),
    ]


async def test_a_link_signs_in_once(access: SqlAccess, open_another: OpenStore) -> None:
    """Of many that press at once, also in another process, one gets a session and a row in the audit."""
    await access.save_login_link(LINK)
    elsewhere = SqlAccess((await open_another()).database)
    signed = await asyncio.gather(
        *(
            each.log_in(LINK.sha256, browser(f"{number}{name}"), act())
            for number in range(5)
            for name, each in (("here", access), ("there", elsewhere))
        )
    )
    assert sorted(signed) == [False] * 9 + [True]
    assert len(await access.audits()) == 1
    assert await access.login_link(LINK.sha256) == replace(LINK, used_at=START)


@pytest.mark.parametrize(("late", "signed"), [(timedelta(microseconds=1), True), (timedelta(0), False)])
async def test_a_link_ends_at_its_time(access: SqlAccess, late: timedelta, signed: bool) -> None:
    """Whoever looked before and pressed after it is too late."""
    await access.save_login_link(LINK)
    assert await access.log_in(LINK.sha256, browser(), act(at=LINK.expires_at - late)) is signed
    assert not await access.log_in("unknown", browser("x"), act())


async def test_old_links_are_forgotten(access: SqlAccess) -> None:
    """A day after their time, when a new one is made."""
    await access.save_login_link(LINK)
    await access.save_login_link(replace(LINK, sha256="next", expires_at=LINK.expires_at + timedelta(days=1)))
    assert await access.login_link(LINK.sha256) == LINK
    await access.save_login_link(
        replace(LINK, sha256="last", expires_at=LINK.expires_at + timedelta(days=1, seconds=1))
    )
    assert await access.login_link(LINK.sha256) is None


async def test_a_browser_is_found_by_both_of_its_secrets(access: SqlAccess) -> None:
    """A rotation is a compare-and-set: the second of two at once changes nothing."""
    await signed_in(access, "old")
    session = await access.browser_session("old")
    assert session is not None
    rotated = replace(session, sha256="new", previous_sha256="old", rotated_at=START + MINUTE)
    assert await access.save_browser_session(rotated, replaces="old")
    assert not await access.save_browser_session(replace(rotated, sha256="lost"), replaces="old")
    assert await access.browser_session("new") == await access.browser_session("old") == rotated
    assert await access.browser_session("lost") is None


async def test_browsers_go(access: SqlAccess) -> None:
    """One by one with a row in the audit, or because nobody saw them for long."""
    for name in ("one", "two"):
        await signed_in(access, name)
    session = await access.browser_session("one")
    assert session is not None
    await access.log_out(session.browser_id, act(what="logout"))
    assert await access.browser_session("one") is None
    await access.remove_browser_sessions(START)
    assert await access.browser_session("two") is not None
    await access.remove_browser_sessions(START + MINUTE)
    assert await access.browser_session("two") is None
    assert (await access.audits())[0].what == "logout"


async def test_the_audit_is_read_newest_first(access: SqlAccess) -> None:
    """In pages, of one person, of one kind; texts are kept as they are, but for the NUL that PostgreSQL has not."""
    for number in range(4):
        await access.audit(act(who=f"p{number % 2}", what=("login", "logout")[number // 2], detail={"n": number}))
    await access.audit(act(what="file_uploaded", subject="a\x00ü.csv"))
    rows = await access.audits()
    assert [row.detail.get("n") for row in rows] == [None, 3, 2, 1, 0]
    assert rows[0].subject == "a\N{REPLACEMENT CHARACTER}ü.csv"
    assert await access.audits(limit=2, before=rows[1].audit_id) == rows[2:4]
    assert await access.audits(who="p0") == [rows[2], rows[4]]
    assert await access.audits(who="p0", what="login") == [rows[4]]
