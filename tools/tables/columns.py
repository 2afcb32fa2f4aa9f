"""Which column plays which role: by an argument, by the words of its header in several languages, by its content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from agent.errors import BadArguments, ToolFailed
from tools.sheets.grid import Formula, Money, Row, Value, letter, shown
from tools.tables.dates import read_date
from tools.tables.headers import ROLES, Role, folded, header_score
from tools.tables.numbers import read_amount

_HEADER_ROWS = 20
_SAMPLE_ROWS = 200
_MOST = 0.8
_HALF = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Where the data begins (index of its first row), the columns' names, and the column of each role."""

    first_row: int
    names: tuple[str, ...]
    roles: Mapping[Role, int]
    notes: tuple[str, ...] = ()

    def name(self, role: Role) -> str | None:
        """The header of a role's column, or None."""
        return self.names[self.roles[role]] if role in self.roles else None


def find_layout(rows: Sequence[Row], named: Mapping[Role, str], source: str) -> Layout:
    """The layout of a table; `named` holds the columns a caller chose by header or letter.

    Raises BadArguments for a column that is not there and ToolFailed when no column, or more than one, can be the
    amount; both name the columns.
    """
    header = _header_row(rows, named)
    first_row = 0 if header is None else header + 1
    headings = () if header is None else rows[header]
    body = [row for row in rows[first_row : first_row + _SAMPLE_ROWS] if not is_blank(row)]
    width = max(map(len, (headings, *body)))
    names = tuple(shown(cell).strip() or letter(index) for index, cell in enumerate(_padded(headings, width)))
    columns = list(zip(*(_padded(row, width) for row in body), strict=True)) or [()] * width
    roles = {role: _named_column(names, text, source) for role, text in named.items()}
    for role in ROLES:
        if role not in roles and (column := _by_words(role, names, columns, roles)) is not None:
            roles[role] = column
    notes = tuple(_by_content(names, columns, roles, source))
    return Layout(first_row=first_row, names=names, roles=roles, notes=notes)


def is_blank(row: Row) -> bool:
    """Whether a row holds nothing."""
    return all(cell is None for cell in row)


def _padded(row: Row, width: int) -> Row:
    return (*row, *[None] * (width - len(row)))


def _header_row(rows: Sequence[Row], named: Mapping[Role, str]) -> int | None:
    """The row whose texts name most roles, so that titles above it are passed over; else the first if it is text."""
    wanted = set(map(folded, named.values()))
    candidates = [(index, row) for index, row in enumerate(rows[:_HEADER_ROWS]) if not is_blank(row)]
    scores = [(_header_row_score(row, wanted), -index) for index, row in candidates]
    score, position = max(scores, default=(0, 0))
    if score:
        return -position
    return candidates[0][0] if candidates and not _holds_data(candidates[0][1]) else None


def _header_row_score(row: Row, wanted: set[str]) -> int:
    texts = {folded(cell) for cell in row if isinstance(cell, str)}
    if not wanted.isdisjoint(texts):
        return len(ROLES) + len(wanted & texts)
    return 0 if _holds_data(row) else sum(any(header_score(role, text) for text in texts) for role in ROLES)


def _holds_data(row: Row) -> bool:
    return any(_is_amount(cell) or _is_date(cell) for cell in row)


def _named_column(names: Sequence[str], text: str, source: str) -> int:
    matches = [index for index, name in enumerate(names) if folded(name) == folded(text)]
    matches = matches or [index for index in range(len(names)) if letter(index) == text.strip().upper()]
    if not matches:
        raise BadArguments(f"{source} has no column {text!r}; it has {_listed(names)}.")
    return matches[0]


def _by_words(role: Role, names: Sequence[str], columns: Sequence[Row], taken: Mapping[Role, int]) -> int | None:
    """The free column whose header names the role best. Content that does not fit speaks against a column; amounts
    that cannot be read do not, when there is no better column: they have to be reported."""
    scores = {index: header_score(role, name) for index, name in enumerate(names) if index not in taken.values()}
    named = [index for index, score in scores.items() if score]
    fitting = [index for index in named if _fits(role, columns[index])]
    if role == "amount" and not fitting:
        fitting = [index for index in named if scores[index] > 1 and _share(columns[index], _is_date) < _HALF]
    return max(fitting, key=lambda index: (scores[index], -index), default=None)


def _by_content(names: Sequence[str], columns: Sequence[Row], roles: dict[Role, int], source: str) -> Iterator[str]:
    """Fill the roles that no header names, where the content leaves one answer; yields a note for each."""

    def free(holds: Callable[[Value], bool]) -> list[int]:
        unused = [index for index in range(len(names)) if index not in roles.values()]
        return [index for index in unused if _share(columns[index], holds) >= _MOST]

    if "date" not in roles and (dates := free(_is_date)):
        roles["date"] = dates[0]
        yield f"Column {names[dates[0]]!r} was taken as the date by its content."
    if "amount" not in roles:
        roles["amount"] = _only_amount(free(_is_amount), names, source)
        yield f"Column {names[roles['amount']]!r} was taken as the amount by its content."
    if "vendor" not in roles and (texts := free(_is_words)):
        roles["vendor"] = texts[0]
        yield f"Column {names[texts[0]]!r} was taken as the vendor by its content."


def _only_amount(numeric: Sequence[int], names: Sequence[str], source: str) -> int:
    if len(numeric) == 1:
        return numeric[0]
    found = f"{_listed([names[index] for index in numeric])} hold numbers" if numeric else f"it has {_listed(names)}"
    raise ToolFailed(f"It is unclear which column of {source} holds the amounts: {found}. Name it as `amount`.")


def _fits(role: Role, column: Row) -> bool:
    match role:
        case "amount":
            return _share(column, _is_amount) >= _HALF
        case "vendor":
            return _share(column, _is_amount) < _HALF
        case "date":
            return _share(column, lambda cell: _is_amount(cell) and not _may_be_serial(cell)) < _HALF
    return _share(column, _is_date) < _HALF


def _share(column: Row, holds: Callable[[Value], bool]) -> float:
    filled = [cell for cell in column if cell is not None]
    return sum(map(holds, filled)) / len(filled) if filled else 0.0


def _is_amount(cell: Value) -> bool:
    if isinstance(cell, str):
        return read_amount(cell) is not None
    return isinstance(cell, Decimal | Money | Formula)


def _may_be_serial(cell: Value) -> bool:
    return isinstance(cell, Decimal) or (isinstance(cell, str) and cell.strip().isdigit())


def _is_date(cell: Value) -> bool:
    return isinstance(cell, date) or (isinstance(cell, str) and bool(read_date(cell)))


def _is_words(cell: Value) -> bool:
    return isinstance(cell, str) and not _is_amount(cell) and not _is_date(cell)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "no columns"
