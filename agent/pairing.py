"""How a stranger comes in: they are shown a code, and an admin whom they tell it admits them."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from agent.domain import OPERATOR, Member, Role
from agent.errors import BadInput, Conflict, Forbidden, NotFound
from agent.people import People
from agent.ports.access import Access, NewAudit
from agent.ports.clock import Clock
from agent.ports.people import Link, Person, Roster
from agent.ports.people import Pairing as Asked

LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ"
"""Without I, L, O and U, which are taken for others. Eight of them are some 36 bits."""
HOLDS = timedelta(hours=1)
MOST_OPEN = 20
"""Strangers of one channel who may ask at a time, so that nobody floods the list of those who wait."""
TRIES = 5
TRIES_WITHIN = timedelta(hours=1)
"""Wrong codes that an admin may enter: codes are not to be guessed by way of an admin's chat or token."""

NAME_SHOWN = 64
"""Characters that are kept of what a stranger calls themselves; a person's name has no more."""

_CODE = re.compile(f"[{LETTERS}]{{8}}")
_TELL_AN_ADMIN = (
    "I do not know you yet. Tell an admin this code: {code}. It holds for an hour; with it they let you in by "
    "`/pair {code}` in a chat, in the console under People, or by `signoff people admit {code}`."
)
_TOO_MANY = "I do not know you yet, and too many others ask to be let in at the moment. Ask an admin to look at them."


@dataclass(frozen=True, kw_only=True, slots=True)
class Knock:
    """What a stranger is told, alone; `code` is None when too many others ask at the moment."""

    code: str | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairing:
    """Codes for strangers, and what admins do with them; each act of an admin is in the audit, with the `way` it came
    in by and the `client`'s IP address."""

    people: People
    roster: Roster
    access: Access
    clock: Clock

    async def knock(self, identity: str, shown_name: str) -> Knock:
        """The code of somebody nobody knows: the same while it is open."""
        now = self.clock.now()
        code = "".join(secrets.choice(LETTERS) for _ in range(8))
        named = shown_name[:NAME_SHOWN]
        new = Asked(identity=identity, shown_name=named, code=code, asked_at=now, expires_at=now + HOLDS)
        asked = await self.roster.ask_pairing(new, MOST_OPEN)
        if asked is None:
            return Knock(code=None, text=_TOO_MANY)
        shown = f"{asked.code[:4]}-{asked.code[4:]}"
        return Knock(code=shown, text=_TELL_AN_ADMIN.format(code=shown))

    async def waiting(self, by: Member) -> list[Asked]:
        """Who asks to be let in, the first first. Their codes are for them to tell, so nobody should be shown them."""
        _require_admin(by)
        return await self.roster.pairings(self.clock.now())

    async def admit(
        self,
        code: str,
        by: Member,
        name: str | None = None,
        roles: Sequence[Role] = (),
        *,
        way: str = "chat",
        client: str = "",
    ) -> Member:
        """Let in whoever was shown this code: as somebody we know already, or as a new person (their shown name, when
        no other is said) with these roles.

        Forbidden for all but admins, NotFound for a wrong code, Conflict after too many of them or for a name that is
        taken, BadInput for a name that is none.
        """
        _require_admin(by)
        if (known := await self._admitted(code, by, name)) is not None:
            return known
        try:
            return await self._let_in(code, by, name, roles, way, client)
        except BadInput:
            if (known := await self._admitted(code, by, name)) is not None:
                return known
            raise

    async def _let_in(
        self, code: str, by: Member, name: str | None, roles: Sequence[Role], way: str, client: str
    ) -> Member:
        asked = await self._asked(code, by, way, client)
        new = await self._newcomer(asked, name, roles, by)
        now, member = self.clock.now(), new.name if new else str(name)
        link = Link(
            identity=asked.identity, member=member, shown_name=asked.shown_name, linked_at=now, linked_by=by.name
        )
        said = {"identity": asked.identity, "new": new is not None, "roles": list(roles), "code": asked.code}
        row = NewAudit(
            at=now, who=by.name, what="pairing_admitted", subject=member, detail=said, way=way, client=client
        )
        if not await self.roster.admit(asked, new, link, row):
            raise Conflict("This code was used, rejected or has expired in the meantime.", code="code_gone")
        return await self.people.member(member)

    async def reject(self, who: str, by: Member, *, way: str = "chat", client: str = "") -> None:
        """Turn somebody away, named by their code or their identity; they may ask again. Errors as of `admit`."""
        if ":" in who:
            _require_admin(by)
        identity = who if ":" in who else (await self._asked(who, by, way, client)).identity
        row = NewAudit(
            at=self.clock.now(), who=by.name, what="pairing_rejected", subject=identity, way=way, client=client
        )
        if not await self.roster.reject(identity, row):
            raise NotFound(f"{identity} does not ask to be let in.")

    async def _admitted(self, code: str, by: Member, name: str | None) -> Member | None:
        """Whom this admin let in by this code just now: what they wrote can arrive twice, after a crash or at once."""
        for last in await self.access.audits(limit=1, who=by.name, what="pairing_admitted"):
            if last.detail["code"] == _plain(code) and name in {None, last.subject}:
                return await self.people.member(last.subject)
        return None

    async def _asked(self, code: str, by: Member, way: str, client: str) -> Asked:
        """The open pairing of a code; a wrong one is written down, and five of them end the trying for an hour."""
        _require_admin(by)
        wanted = _plain(code)
        if not _CODE.fullmatch(wanted):
            raise BadInput(f"{code!r} is no code; one looks like ABCD-EFGH.", field="code")
        now = self.clock.now()
        tried = await self.access.audits(limit=TRIES, who=by.name, what="pairing_refused")
        if len(tried) == TRIES and tried[-1].at > now - TRIES_WITHIN:
            raise Conflict("Too many wrong codes; try again in an hour.", code="too_many_codes")
        for asked in await self.roster.pairings(now):
            if hmac.compare_digest(asked.code, wanted):
                return asked
        await self.access.audit(NewAudit(at=now, who=by.name, what="pairing_refused", way=way, client=client))
        raise NotFound("Nobody who asks to be let in was shown this code; codes hold for an hour.", code="wrong_code")

    async def _newcomer(self, asked: Asked, name: str | None, roles: Sequence[Role], by: Member) -> Person | None:
        """The person to be added; None for somebody we know, whom only a `name` can mean: a platform's own names are
        anybody's choice."""
        if name is not None and name != OPERATOR.name and name in await self.people.by_name():
            if roles:
                raise BadInput(f"{name} is known already and keeps their roles; leave them out.", field="roles")
            return None
        new = self.people.new_name(asked.shown_name if name is None else name)
        if name is None and await self.roster.has_worked(new):
            raise Conflict(
                f"Somebody named {new} was here before, whose files and conversations they would find. "
                "If it is the same person, say that name with the code, else another one.",
                code="name_used",
            )
        return Person(name=new, roles=tuple(sorted(set(roles))), added_at=self.clock.now(), added_by=by.name)


def _plain(code: str) -> str:
    return re.sub(r"[\s-]", "", code).upper()


def _require_admin(member: Member) -> None:
    if "admin" not in member.roles:
        raise Forbidden(f"{member.name} may not do this; it is for the role admin.", code="missing_role")
