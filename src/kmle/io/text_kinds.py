"""What cells that are not numbers hold: dates, times, money, percentages, grouped digits, or plain text."""

import re
from collections.abc import Iterable

DIGITS = r"[+-]?\d[\d.,' \u00a0\u202f]*"
CURRENCY = r"(?:[$€£¥₹₽₩]|(?:USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|kr|zł)\b\.?)"
PATTERNS = {
    "dates": re.compile(
        r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?"
        r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([T ].*)?"
        r"|\d{1,2}[- ][A-Za-z]{3,9}\.?[- ,]+\d{2,4}"
        r"|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
    ),
    "times": re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?"),
    "percent": re.compile(rf"{DIGITS}%"),
    "currency": re.compile(rf"[+-]?\(?{CURRENCY} ?{DIGITS}\)?|{DIGITS}{CURRENCY}"),
    "grouped": re.compile(r"[+-]?\d{1,3}([,. '\u00a0\u202f])\d{3}(\1\d{3})*([.,]\d+)?"),
}
WORDS = {
    "dates": "a date",
    "times": "a time of day",
    "percent": "a percentage",
    "currency": "an amount with a currency sign",
    "grouped": "a number with its digits grouped",
}
SEVERAL = {
    "dates": "dates",
    "times": "times of day",
    "percent": "percentages",
    "currency": "amounts with a currency sign",
    "grouped": "numbers with their digits grouped",
}
REMEDIES = {
    "dates": "convert dates to numbers (for example days since the first)",
    "times": "convert times to numbers (for example minutes)",
    "percent": "remove the percent signs",
    "currency": "remove the currency signs",
    "grouped": "give the separator of the digits, for example --thousands ,",
}


def kind_of_text(values: Iterable[str]) -> str:
    """What most of the values are, "text" if nothing in particular.

    >>> kind_of_text(["2024-05-01", "2024-05-02"]), kind_of_text(["$1,200.50"]), kind_of_text(["12 %"])
    ('dates', 'currency', 'percent')
    >>> kind_of_text(["1,250,000"]), kind_of_text(["tall", "small"])
    ('grouped', 'text')
    """
    cells = [value.strip() for value in values]
    for kind, pattern in PATTERNS.items():
        if cells and 2 * sum(pattern.fullmatch(cell) is not None for cell in cells) > len(cells):
            return kind
    return "text"
