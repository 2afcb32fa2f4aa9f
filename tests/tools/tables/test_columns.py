"""Roles of columns by header words and content."""

from __future__ import annotations

import pytest

from tests.tools.tables.reported import reported


@pytest.mark.parametrize(
    "header",
    [
        "Vendor,Invoice No,Date,Amount",
        "Lieferant,Rechnungsnummer,Rechnungsdatum,Bruttobetrag",
        "Fournisseur,N° de facture,Date de facture,Montant TTC",
        "Proveedor,Número de factura,Fecha,Importe total",
        "供应商,发票号码,开票日期,价税合计",
        "Fornitore,Numero fattura,Data,Importo",
    ],
)
def test_headers_in_several_languages(header: str) -> None:
    """Vendor, number, date and amount are found in English, German, French, Spanish, Chinese and Italian headers."""
    vendor, number, day, amount = header.split(",")
    columns = reported(f"{header}\nA,R-1,2026-01-02,1.50\n")["columns"]
    assert columns == {"vendor": vendor, "amount": amount, "date": day, "currency": None, "number": number}


@pytest.mark.parametrize(
    ("header", "row", "amount"),
    [
        ("Vendor,Unit price,Total", "A,1.00,2.00", "Total"),
        ("Vendor,Net amount,Gross amount", "A,1.00,1.19", "Gross amount"),
        ("Vendor,VAT amount,Amount", "A,0.19,1.19", "Amount"),
        ("Vendor,Amount due date,Amount", "A,2026-01-02,1.19", "Amount"),
        ("供应商,单价,金额", "A,1.00,2.00", "金额"),
    ],
)
def test_the_better_amount_wins(header: str, row: str, amount: str) -> None:
    """Gross is taken before net, a total before a unit price, and dates are never amounts."""
    assert reported(f"{header}\n{row}\n")["columns"]["amount"] == amount


def test_a_vendor_s_number_is_not_its_name() -> None:
    """A supplier's code is not taken for the supplier."""
    assert reported("Vendor ID,Vendor,Amount\nV1,A,1.00\n")["columns"]["vendor"] == "Vendor"


def test_due_dates_come_second() -> None:
    """The date of the invoice is taken, not the day until which it is to be paid."""
    assert reported("Vendor,Due date,Date,Amount\nA,2026-02-02,2026-01-02,1.00\n")["columns"]["date"] == "Date"


def test_titles_above_the_header_are_passed_over() -> None:
    """The header is the row that names most roles; row numbers still count from the top of the file."""
    facts = reported("Invoices 2026,,\n,,\nVendor,Date,Amount\nA,2026-01-02,-1.00\n")
    assert facts["columns"]["vendor"] == "Vendor"
    assert facts["refunds"][0]["row"] == 4


def test_a_table_without_header_is_read_by_content() -> None:
    """Letters stand for the names, and the result says what was taken for what."""
    facts = reported("2026-01-02,Acme Company,12.50\n2026-01-03,Blue Ltd,7.50\n")
    assert facts["columns"] == {"vendor": "B", "amount": "C", "date": "A", "currency": None, "number": None}
    assert facts["total"][0]["total"] == "20.00"
    assert facts["notes"] == [
        "Column 'A' was taken as the date by its content.",
        "Column 'C' was taken as the amount by its content.",
        "Column 'B' was taken as the vendor by its content.",
    ]
