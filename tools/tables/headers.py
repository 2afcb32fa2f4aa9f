"""The words by which people head the columns of invoices and quotes, in several languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

Role = Literal["vendor", "amount", "date", "currency", "number"]

ROLES: tuple[Role, ...] = ("vendor", "amount", "date", "currency", "number")
# The first text holds the better words: `Gross total` is taken before `Amount`, `Amount` before `Net price`.
_WORDS: Mapping[Role, tuple[str, ...]] = {
    "vendor": (
        """vendor supplier merchant payee seller creditor lieferant kreditor verkäufer händler anbieter
        zahlungsempfänger fournisseur vendeur marchand prestataire bénéficiaire créancier proveedor vendedor acreedor
        beneficiario fornitore fornecedor leverancier поставщик 공급업체
        供应商 供應商 供货商 商家 商户 卖方 销售方 收款方 厂商 仕入先 取引先""",
        "company firma unternehmen société entreprise empresa azienda bedrijf 公司 会社",
        "customer client kunde cliente name nom nombre",
    ),
    "amount": (
        """gross brutto bruto lordo ttc total gesamt gesamtbetrag gesamtsumme rechnungsbetrag endbetrag totale totaal
        价税合计 合计 总额 总价 總額 合計""",
        "amount betrag summe montant importe monto importo valor bedrag sum somme suma value сумма 금액 金额 金額",
        "price cost preis kosten prix coût precio coste prezzo preço net netto neto ht 价格 費用 费用",
    ),
    "date": (
        "date datum fecha data дата 날짜 日期 日付",
        "day tag jour día issued 时间",
    ),
    "currency": ("currency ccy währung devise moneda divisa valuta moeda валюта 통화 币种 货币 幣別 通貨",),
    "number": (
        "rechnungsnr rechnungsnummer belegnr belegnummer facture factura fattura 发票号码 发票号 发票编号 請求書番号",
        "invoice rechnung beleg document reference ref quote angebot offer numéro número id 单号 單號 编号 編號 号码",
    ),
}
# A header with one of these means something near by: a unit price, a due date, a tax, a supplier's code.
_NEAR_BY = """unit einzel einzelpreis unitaire unitario due fällig fälligkeit échéance vencimiento vat tax mwst ust tva
iva discount rabatt remise open paid qty quantity menge quantité cantidad"""
_IDENTIFIERS = "id no nr number nummer code numéro número address email iban 编号 号码"
_NEAR_BY_PARTS = "单价 税额 税率 数量 到期 地址"


def folded(text: str) -> str:
    """Text as it is compared: width forms, case and runs of white space do not count."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def header_score(role: Role, header: str) -> int:
    """How well a header names a role: 0 not at all, 1 something near by, more for better words and whole headers."""
    text = folded(header)
    words = re.findall(r"[^\W\d_]+", text)
    for rank, tier in enumerate(_WORDS[role]):
        if hits := [word for word in tier.split() if _names(word, words)]:
            return 1 if _is_near_by(role, words) else 8 - 2 * rank + (text in hits)
    return 0


def _names(word: str, words: Sequence[str]) -> bool:
    """A whole word, or the end of a compound such as `Rechnungsdatum`; anywhere in a script without spaces."""
    if unicodedata.category(word[0]) == "Lo":
        return any(word in other for other in words)
    return any(other == word or (len(word) > 4 and other.endswith(word)) for other in words)


def _is_near_by(role: Role, words: Sequence[str]) -> bool:
    near_by = _NEAR_BY if role == "number" else f"{_NEAR_BY} {_IDENTIFIERS}"
    return not set(near_by.split()).isdisjoint(words) or any(
        part in word for part in _NEAR_BY_PARTS.split() for word in words
    )
