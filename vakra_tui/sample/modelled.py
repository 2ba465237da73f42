"""The large tables of the sample: not measured, derived by simple arithmetic from the stated facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Row = tuple[Any, ...]
Stated = Mapping[str, list[Row]]

FIRST_YEAR, YEARS = 2020, 3
_SEASONS = (
    "winter",
    "winter",
    "spring",
    "spring",
    "spring",
    "summer",
    "summer",
    "summer",
    "autumn",
    "autumn",
    "autumn",
)


def river_flows(stated: Stated) -> Mapping[str, list[Row]]:
    """A monthly flow for every river whose mean discharge is stated: that mean times a triangular wave over the year.

    The wave peaks by 40 % in a month that depends on the river, and rises by 1 % of the mean from year to year.
    """
    rows: list[Row] = []
    for river, _name, _length, discharge, _mouth in stated["river"]:
        if discharge is None:
            continue
        for index in range(12 * YEARS):
            year, month = divmod(index, 12)
            away = abs((month - 3 * int(river)) % 12 - 6)
            per_mille = 600 + 800 * away // 6 + 10 * year
            flow = round(int(discharge) * per_mille / 1000, 2)
            season = _SEASONS[month] if month < 11 else "winter"
            rows.append((len(rows) + 1, int(river), f"{FIRST_YEAR + year}-{month + 1:02d}-01", season, flow))
    return {"modelled_flow": rows}


MODELLED: Mapping[str, Callable[[Stated], Mapping[str, list[Row]]]] = {"waters": river_flows}
