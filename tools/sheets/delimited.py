"""Text tables (CSV and its relatives): encoding and delimiter found, cells guarded against formulas when written."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from itertools import islice

from agent.errors import ToolFailed
from tools.encoding import decode
from tools.sheets.currencies import PATTERN
from tools.sheets.grid import CELLS, ROWS, Grid, Row

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
"""What makes a spreadsheet take a cell for a formula: https://owasp.org/www-community/attacks/CSV_Injection."""

_PLAIN_NUMBER = re.compile(r"[-+−－]?[\d.,'’\s]*\d[\d.,'’\s]*[%€$£¥]?")
_CURRENCY = re.compile(PATTERN)
_SAMPLE_RECORDS = 200


def read_delimited(content: bytes, name: str) -> Grid:
    """The records of a text table; ToolFailed for bytes that are no text, an unclosed quote, or too many rows."""
    decoded = decode(content, name)
    text = decoded.text
    notes = () if decoded.codec == "utf-8" else (f"The file is not UTF-8; it was read as {decoded.encoding}.",)
    first = text.split("\n", 1)[0].strip()
    directive = first[4] if re.fullmatch(r"sep=.", first, re.IGNORECASE) else None  # Excel's own first line
    delimiter = directive or find_delimiter(text)
    rows: list[Row] = []
    cells = 0
    for record in read_records(text, delimiter, name):
        cells += len(record)
        if len(rows) >= ROWS or cells > CELLS:
            raise ToolFailed(f"{name} has more than {ROWS:,} rows or {CELLS:,} cells. Split it.")
        rows.append(tuple(cell if cell.strip() else None for cell in record))
    if directive and rows:
        rows[0] = ()
    return Grid(sheet=None, rows=rows, notes=notes)


def find_delimiter(text: str) -> str:
    """The one of `,;|` and tab that cuts most records into the same number of cells; the unit separator, which no text
    holds, when none does: a table of one column."""

    def score(delimiter: str) -> tuple[float, int]:
        records = _sample(text, delimiter)
        widths = Counter(len(record) for record in records if len(record) > 1)
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        first = next((record for record in records if len(record) == width), [])
        if _PLAIN_NUMBER.fullmatch(_CURRENCY.sub("", delimiter.join(first)).strip()):  # one column of decimals: 1,5
            return 0, 1
        return (count / len(records) if records else 0), width

    best = max(",;\t|", key=score)
    return best if score(best) > (0, 1) else "\x1f"


def read_records(text: str, delimiter: str, name: str = "The text") -> list[list[str]]:
    """All records of a text table; ToolFailed, which calls it `name`, when it cannot be cut into cells."""
    try:
        return list(csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        if "unexpected end of data" in str(error):  # read leniently, every row after the quote would vanish into a cell
            raise ToolFailed(f"{name} has a quote that is opened and never closed. Correct it first.") from error
    try:
        return list(csv.reader(StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise ToolFailed(f"{name} cannot be read as a table: {error}.") from error


def write_records(rows: Iterable[Sequence[str]]) -> bytes:
    """RFC 4180 records in UTF-8 with line feeds, of cells without carriage returns; nothing is guarded here."""
    buffer = StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def guarded(text: str) -> str:
    """Text as a CSV cell: an apostrophe goes before what a spreadsheet would run, unless it is just a number."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not _PLAIN_NUMBER.fullmatch(text) else text


def _sample(text: str, delimiter: str) -> list[list[str]]:
    records = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    try:
        return list(islice(filter(None, records), _SAMPLE_RECORDS))
    except csv.Error:  # a field too large for this delimiter
        return []
