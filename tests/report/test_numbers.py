"""Numbers read well: equal decimals, honest digits."""

import numpy as np
import pytest

from kmle.report.numbers import column, count, duration, percent, plain

MINUS, SPACE = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize("values", [[1.0, 22.5, -333.125], [1e-3, 2e-3], [1e-12, 3e-9], [1e12, 5.0], [0.0, 0.0]])
def test_a_column_has_its_points_under_each_other(values):
    behind = {len(shown.partition(".")[2]) for shown in column(values)}
    assert len(behind) == 1


def test_errors_keep_two_digits():
    assert column([12.34567, 0.5], [0.0123, 0.0456]) == ["12.346", "0.500"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (plain(-1234567.891, 2), f"{MINUS}1{SPACE}234{SPACE}567.89"),
        (plain(-0.0001, 2), "0.00"),
        (plain(np.nan, 2), "\N{EN DASH}"),
        (plain(1.5e-9, None), f"1.500e{MINUS}09"),
        (count(12_000), f"12{SPACE}000"),
        (count(2.5), "2.5"),
        (percent(1e-5), "< 0.1 %"),
        (percent(0.25), "25.0 %"),
        (duration(0.0123), "12.3 ms"),
        (duration(12.3), "12.3 s"),
    ],
)
def test_single_numbers(shown, expected):
    assert shown == expected
