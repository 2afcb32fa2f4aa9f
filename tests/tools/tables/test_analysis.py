"""Text tables analysed whole: what a model gets to read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BadArguments, ToolError, ToolFailed
from tests.tools.tables.reported import reported
from tools.tables.analysis import Question, analyze
from tools.tables.report import LONGEST_RESULT

CELL = st.text(max_size=6) | st.sampled_from(
    ["1,234", "1.5", "-2", "A", "Total", "03/04/2026", "2026-01-02", "43301", "€"]
)


def test_gb18030_headers() -> None:
    """H1: a Chinese CSV without a mark is read as GB18030, headers and all, and the result says so."""
    facts = reported('供应商,金额,日期\n云桥物流,"1,280.50",2026-01-08\n'.encode("gb18030"))
    assert facts["columns"] == {"vendor": "供应商", "amount": "金额", "date": "日期", "currency": None, "number": None}
    assert facts["totals"] == [{"vendor": "云桥物流", "currency": None, "count": 1, "total": "1280.50"}]
    assert facts["notes"] == ["The file is not UTF-8; it was read as GB18030."]


def test_byte_order_mark_wins() -> None:
    """H3: the mark is not part of the first header, and decides the encoding."""
    assert reported("\ufeffvendor,amount\nMüller,1.50\n")["totals"][0]["vendor"] == "Müller"
    assert reported("\ufeffvendor;amount\nMüller;1,50\n".encode("utf-16-le"))["total"][0]["total"] == "1.50"


def test_semicolons_and_decimal_commas() -> None:
    """H4: the delimiter is found, and a comma in an amount is not one."""
    facts = reported("vendor;amount;date\nA;1,5;2026-01-02\n")
    assert facts["rows"] == 1
    assert facts["total"][0]["total"] == "1.50"


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("amount\n10\n20\n", "30"),
        ("amount\n1,5\n2,5\n", "4.00"),
        ("Betrag\n-2,40\n", "-2.40"),
        ("Betrag\n2,40 EUR\n", "2.40"),
    ],
)
def test_one_column(text: str, total: str) -> None:
    """H4, H7: a file of one column is a table too, also when its decimals hold commas."""
    facts = reported(text)
    assert [item["total"] for item in facts["total"]] == [total]
    assert facts["columns"]["vendor"] is None


def test_negative_amounts_with_currency_signs() -> None:
    """H6: decimal commas under a minus and a euro sign keep their size."""
    facts = reported("Lieferant;Betrag\nA;-950,00 €\nA;-1.000,00 €\n")
    assert facts["totals"] == [{"vendor": "A", "currency": "EUR", "count": 2, "total": "-1950.00"}]


def test_a_column_of_open_numbers_says_so() -> None:
    """H8: when no cell decides, the reading taken and the other one are named."""
    facts = reported("vendor;amount\nA;1,234\nB;2,500\n")
    assert facts["total"][0]["total"] == "3734"
    assert facts["ambiguous"] == [
        {
            "column": "amount",
            "cells": 2,
            "example": "1,234",
            "reading": "decimal point: 1234",
            "alternative": "decimal comma: 1.234",
        }
    ]


def test_one_clear_number_decides_the_column() -> None:
    """H8: `5,5` beside `1,234` makes the comma a decimal one in the whole column."""
    facts = reported("vendor;amount\nA;1,234\nA;5,5\n")
    assert facts["total"][0]["total"] == "6.734"
    assert facts["ambiguous"] == []


def test_mixed_number_styles_are_said() -> None:
    """A column with proof of both styles is read cell by cell, and what is still open is reported."""
    facts = reported("vendor;amount\nA;1.234,50\nA;1,234.50\nA;1,000\n")
    assert facts["total"][0]["total"] == "3469.00"
    assert facts["notes"] == ["Column 'amount' mixes two styles; each cell was read by itself."]
    assert facts["ambiguous"][0]["cells"] == 1


def test_digits_of_other_scripts() -> None:
    """H11: full-width digits and the minus sign count, `²` is a problem of its row."""
    facts = reported("vendor;amount\nA;１，２３４．５０\nA;²\nA;−5\n")
    assert facts["total"][0]["total"] == "1229.50"
    assert facts["problems"] == [{"row": 3, "column": "amount", "text": "²", "reason": "not a number"}]


def test_mixed_and_broken_dates() -> None:
    """H16: good dates are read, bad ones listed by row; their amounts still count."""
    cells = ["43301", "2018-08-01", "17/20/2018", "11/10//2018", "31/11/2018", "3 MOIS", ""]
    facts = reported("vendor,date,amount\n" + "".join(f"V{n},{cell},-{n}\n" for n, cell in enumerate(cells, 1)))
    assert [(problem["row"], problem["reason"]) for problem in facts["problems"]] == [
        (4, "not a date"),
        (5, "not a date"),
        (6, "not a date"),
        (7, "not a date"),
        (8, "no date"),
    ]
    assert [refund["date"] for refund in facts["refunds"]][:2] == ["2018-07-20", "2018-08-01"]
    assert facts["notes"] == ["Column 'date': 1 day numbers such as 43301 were read as dates (2018-07-20)."]
    assert facts["counted"] == 7


def test_day_or_month_first() -> None:
    """H17: alone, `03/04/2026` is ambiguous and said to be; one date with a day over 12 decides the whole column."""
    alone = reported("vendor,date,amount\nA,03/04/2026,-1\n")
    assert alone["ambiguous"][0] | {"column": ""} == {
        "column": "",
        "cells": 1,
        "example": "03/04/2026",
        "reading": "day first: 2026-04-03",
        "alternative": "month first: 2026-03-04",
    }
    decided = reported("vendor,date,amount\nA,03/04/2026,-1\nA,25/04/2026,-1\n")
    assert decided["ambiguous"] == []
    assert [refund["date"] for refund in decided["refunds"]] == ["2026-04-03", "2026-04-25"]


def test_small_numbers_beside_a_date_column_stay_numbers() -> None:
    """H14: a house number is no date; in a date column a number up to 60 is a problem of its row."""
    facts = reported("vendor,address no,date,amount\nA,9,2026-01-02,1.00\nB,9,59,1.00\nC,9,60,1.00\n")
    assert facts["columns"]["date"] == "date"
    assert [(problem["row"], problem["column"]) for problem in facts["problems"]] == [(3, "date"), (4, "date")]


def test_currencies_are_never_added_up() -> None:
    """Each currency has its own totals, whether a column, a sign or a header names it."""
    facts = reported("vendor,amount,currency\nA,10.00,EUR\nA,5.00,USD\nB,1.00,eur\n")
    assert [(item["vendor"], item["currency"], item["total"]) for item in facts["totals"]] == [
        ("A", "EUR", "10.00"),
        ("B", "EUR", "1.00"),
        ("A", "USD", "5.00"),
    ]
    assert [(item["currency"], item["total"]) for item in facts["total"]] == [("EUR", "11.00"), ("USD", "5.00")]
    signs = reported("vendor;amount\nA;€ 1.50\nA;$ 2.50\nA;3.00\n")
    assert [(item["currency"], item["total"]) for item in signs["total"]] == [
        (None, "3.00"),
        ("$", "2.50"),
        ("EUR", "1.50"),
    ]
    assert reported("vendor,Amount (GBP)\nA,1.00\n")["total"][0]["currency"] == "GBP"


def test_missing_values_and_blank_rows() -> None:
    """Blank rows do not count, a missing amount or vendor is a problem of its row."""
    facts = reported("vendor,amount\nA,1.00\n\nB,\n,3.00\n")
    assert (facts["rows"], facts["counted"]) == (3, 2)
    assert [(p["row"], p["column"], p["reason"]) for p in facts["problems"]] == [
        (4, "amount", "no amount"),
        (5, "vendor", "no vendor"),
    ]
    assert {"vendor": "(no vendor)", "currency": None, "count": 1, "total": "3.00"} in facts["totals"]


def test_the_file_s_own_total_is_not_counted() -> None:
    """A summary row stands apart, labelled or bare; a vendor called Total with a date does not."""
    labelled = reported("vendor,date,amount\nA,2026-01-02,1.00\nB,2026-01-02,2.00\nTotal,,3.00\n")
    assert labelled["total"][0]["total"] == "3.00"
    assert labelled["summary_rows"] == [{"row": 4, "label": "Total", "amount": "3.00"}]
    bare = reported("vendor,date,amount\nA,2026-01-02,1.00\nB,2026-01-02,2.00\n,,3.00\n")
    assert bare["total"][0]["total"] == "3.00"
    company = reported("vendor,date,amount\nTotal,2026-01-02,1.00\nB,2026-01-02,2.00\n")
    assert company["summary_rows"] == []
    assert company["total"][0]["total"] == "3.00"


def test_spellings_of_one_vendor() -> None:
    """Case, width and white space do not make another vendor, and the result says which spellings were joined."""
    facts = reported("vendor,amount\nAcme Ltd,1.00\nACME  LTD,2.00\n")
    assert facts["totals"] == [{"vendor": "Acme Ltd", "currency": None, "count": 2, "total": "3.00"}]
    assert facts["notes"] == ["Vendor 'Acme Ltd' includes the spelling 'ACME LTD'."]


def test_sums_are_exact() -> None:
    """Cents are never lost, however large or many the amounts are."""
    facts = reported("vendor,amount\n" + "A,0.10\n" * 3 + "A,99999999999999999999999999.99\n")
    assert facts["total"][0]["total"] == "100000000000000000000000000.29"


def test_columns_named_by_the_caller() -> None:
    """A header or a letter names a column; one that is not there is refused with those that are."""
    text = "who,net,gross\nA,1.00,1.19\n"
    assert reported(text, question=Question(vendor="who", amount="NET"))["total"][0]["total"] == "1.00"
    assert reported(text, question=Question(amount="b"))["total"][0]["total"] == "1.00"
    with pytest.raises(BadArguments, match="no column 'tax'; it has 'who', 'net', 'gross'"):
        reported(text, question=Question(amount="tax"))


def test_an_unclear_amount_is_asked_for() -> None:
    """Several nameless number columns are not guessed at."""
    with pytest.raises(ToolFailed, match=r"'a', 'b' hold numbers\. Name it as `amount`"):
        reported("x,a,b\nA,1,2\n")
    with pytest.raises(ToolFailed, match="it has 'x', 'y'"):
        reported("x,y\nA,B\n")


@pytest.mark.parametrize(
    ("content", "path", "message"),
    [
        (b"\x00\x01", "t.csv", "not text"),
        (b'vendor,amount\n"A,1\nB,2\n', "t.csv", "never closed"),
        (b"", "t.csv", "no columns"),
        (b"vendor,amount\n", "t.pdf", "reads .csv, .tsv, .txt, .xlsm, .xlsx"),
    ],
)
def test_files_that_are_no_tables(content: bytes, path: str, message: str) -> None:
    """What cannot be read as a table is refused in one sentence."""
    with pytest.raises((ToolFailed, BadArguments), match=message):
        analyze(content, path, Question())


def test_a_long_result_stays_whole_json() -> None:
    """A result is short enough to reach a model whole; lists lose their ends and say how many entries."""
    rows = "".join(f"Vendor number {n} {'x' * 200},{n}.00\n" for n in range(1000))
    text = analyze(f"vendor,amount\n{rows}".encode(), "t.csv", Question())
    assert len(text) <= LONGEST_RESULT
    facts = reported(f"vendor,amount\n{rows}")
    assert len(facts["totals"]) + facts["left_out"]["totals"] == 1000
    assert facts["total"][0]["total"] == "499500.00"


@given(st.lists(st.lists(CELL, max_size=5), max_size=8), st.sampled_from([",", ";", "\t"]))
def test_any_table_gives_facts_or_one_sentence(rows: list[list[str]], delimiter: str) -> None:
    """Whatever the cells hold, the outcome is a report with whole JSON or an error for the model."""
    text = "\n".join(delimiter.join(row) for row in [["vendor", "amount", "date"], *rows])
    try:
        facts = reported(text)
    except ToolError:
        return
    assert facts["counted"] <= facts["rows"]
    assert sum(item["count"] for item in facts["totals"]) == facts["counted"]
