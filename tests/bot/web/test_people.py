"""The page of people: what admins see and do there, and that nobody else does."""

from __future__ import annotations

import pytest

from tests.bot.api.site import Site
from tests.bot.web.test_hostile import HOSTILE, check
from tests.bot.web.visitor import Seen, Visitor, logged_in

FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/people", {"name": "Cem"}),
    ("/people/ann", {}),
    ("/people/ann/remove", {}),
    ("/people/ann/link", {"identity": "lines:1"}),
    ("/identities/unlink", {"identity": "lines:1"}),
    ("/strangers/admit", {"code": "AAAA-AAAA"}),
    ("/strangers/reject", {"who": "lines:1"}),
)


async def code_of(site: Site, identity: str = "lines:7", shown_name: str = "Eve") -> str:
    code = (await site.app.services.pairing.knock(identity, shown_name)).code
    assert code is not None
    return code


async def known(site: Site) -> dict[str, tuple[list[str], list[str]]]:
    """Roles and identities by name."""
    people = await site.app.services.people.by_name()
    return {name: (sorted(one.roles), sorted(one.identities)) for name, one in people.items() if name != "operator"}


async def done(visitor: Visitor, path: str, form: dict[str, str]) -> Seen:
    """Send a form of the page; the page as it is after that."""
    sent = await visitor.post(path, form)
    assert (sent.status, sent.headers.get("HX-Redirect")) == (200, "/people"), sent.text
    return await visitor.get("/people")


async def test_who_there_is(site: Site, visitor: Visitor) -> None:
    """With roles, where they come from, and who they are on channels; a way to change only what can be."""
    page = (await visitor.get("/people")).page
    for said in ("operator", "owns the data", "ann", "approver", "from config.yaml", "Nobody at the moment"):
        assert said in page.text
    assert "Remove ann" not in page.text
    assert list(page.dangers()) == []


async def test_the_whole_life_of_a_person(site: Site, visitor: Visitor) -> None:
    """Added, changed, linked, unlinked and removed; a general zone and an empty budget are not somebody's own."""
    await done(visitor, "/people", {"name": " Cem ", "role.approver": "yes", "timezone": "UTC", "budget": ""})
    assert (await known(site))["Cem"] == (["approver", "member"], [])
    [cem] = await site.app.services.roster.persons()
    assert (cem.timezone, cem.budget_day_usd) == (None, None)
    seen = await done(visitor, "/people/Cem", {"role.admin": "yes", "timezone": "Asia/Tokyo", "budget": "2.50"})
    assert (await known(site))["Cem"] == (["admin", "member"], [])
    for said in ("Asia/Tokyo", "$2.50 a day", "added here", "Remove Cem"):
        assert said in seen.page.text
    await done(visitor, "/people/Cem/link", {"identity": " lines:9 "})
    assert "lines:9" in (await done(visitor, "/people/ann/link", {"identity": "lines:8"})).page.text
    assert [(await known(site))[name][1] for name in ("ann", "Cem")] == [["lines:8"], ["lines:9"]]
    await done(visitor, "/identities/unlink", {"identity": "lines:8"})
    await done(visitor, "/people/Cem/remove", {})
    assert await known(site) == {"ann": (["approver", "member"], []), "bob": (["approver", "member"], [])}


async def test_a_stranger_is_let_in(site: Site, visitor: Visitor) -> None:
    """By the code they told, which the page does not show; as somebody new or somebody there is."""
    code = await code_of(site)
    page = (await visitor.get("/people")).page
    assert "lines:7" in page.text
    assert "Eve" in page.text
    assert code not in page.text
    await done(visitor, "/strangers/admit", {"code": code.lower(), "name": "", "role.approver": "yes"})
    await done(visitor, "/strangers/admit", {"code": await code_of(site, "lines:8"), "name": "bob"})
    assert (await known(site))["Eve"] == (["approver", "member"], ["lines:7"])
    assert (await known(site))["bob"][1] == ["lines:8"]
    await code_of(site, "lines:9", "Tom")
    assert "Tom" not in (await done(visitor, "/strangers/reject", {"who": "lines:9"})).page.text


@pytest.mark.parametrize(
    ("path", "form", "status", "said"),
    [
        ("/people", {"name": "ANN"}, 409, "There is somebody named ANN in config.yaml"),
        ("/people", {"name": ""}, 422, "is no name"),
        ("/people", {"name": "Cem", "budget": "much"}, 422, "much is no amount"),
        ("/people", {"name": "Cem", "timezone": "Mars"}, 422, "is no IANA time zone"),
        ("/people/ann", {}, 409, "ann stands in config.yaml"),
        ("/people/nobody/remove", {}, 404, "There is nobody named"),
        ("/people/ann/link", {"identity": "console:bob"}, 422, "is no identity"),
        ("/strangers/admit", {"code": "AAAA-AAAA"}, 404, "Nobody who asks to be let in was shown this code"),
        ("/strangers/reject", {"who": "lines:1"}, 404, "does not ask to be let in"),
    ],
)
async def test_what_cannot_be_done_is_said(
    site: Site, visitor: Visitor, path: str, form: dict[str, str], status: int, said: str
) -> None:
    """Above the page, whose fields stay as they are."""
    before = await known(site)
    refused = await visitor.post(path, form)
    assert (refused.status, refused.headers.get("HX-Retarget")) == (status, "#toasts")
    assert said in refused.page.text
    assert await known(site) == before


async def test_it_is_for_admins(site: Site, visitor: Visitor) -> None:
    """Nobody else is shown the way, and none of its forms works for them."""
    assert 'href="/people"' in (await visitor.get("/chat")).text
    ann, before = await logged_in(site, "ann"), await known(site)
    await code_of(site, "lines:1")
    assert 'href="/people"' not in (await ann.get("/chat")).text
    assert (await ann.get("/people")).status == 403
    for path, form in FORMS:
        refused = await ann.post(path, form)
        assert (refused.status, "it is for the role admin" in refused.page.text) == (403, True), path
    assert await known(site) == before
    assert len(await site.app.services.pairing.waiting(site.app.services.people.operator)) == 1


async def test_what_strangers_call_themselves(site: Site, visitor: Visitor) -> None:
    """Is shown as it is, and nothing of it runs."""
    for number, name in enumerate(HOSTILE):
        await code_of(site, f"lines:{number}", name)
    check((await visitor.get("/people")).text, "/people", " ".join(HOSTILE))
