"""Which of the many names of a place are kept: GeoNames has them in all languages, unmarked, with airport codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from ....models.words import fold
from ...ids_and_names import search_name

MIN_CHARS = 4
_LATIN_NAME = re.compile(r"[A-ZÀ-ÖØ-ÞĀ-Ž][A-Za-zÀ-ɏḀ-ỿ'’ .-]*")

COUNTRY_ALIASES = {
    "AE": ("UAE", "Emirates"),
    "BA": ("Bosnia",),
    "BN": ("Brunei Darussalam",),
    "BO": ("Plurinational State of Bolivia",),
    "CD": ("DR Congo", "DRC", "Congo-Kinshasa", "Zaire"),
    "CG": ("Congo-Brazzaville", "Congo"),
    "CN": ("People's Republic of China", "PRC"),
    "CZ": ("Czech Republic",),
    "DE": ("Federal Republic of Germany",),
    "FM": ("Federated States of Micronesia",),
    "GB": ("UK", "U.K.", "Great Britain", "Britain"),
    "IE": ("Republic of Ireland", "Eire"),
    "IR": ("Islamic Republic of Iran", "Persia"),
    "KP": ("DPRK", "Democratic People's Republic of Korea"),
    "KR": ("Republic of Korea",),
    "LA": ("Lao People's Democratic Republic",),
    "LK": ("Ceylon",),
    "MK": ("Macedonia",),
    "MM": ("Burma",),
    "NL": ("Holland",),
    "PS": ("Palestine",),
    "RU": ("Russian Federation",),
    "SY": ("Syrian Arab Republic",),
    "SZ": ("Swaziland",),
    "TH": ("Siam",),
    "TL": ("East Timor",),
    "TW": ("Republic of China",),
    "TZ": ("United Republic of Tanzania",),
    "US": ("USA", "U.S.", "U.S.A.", "United States of America", "America"),
    "VA": ("Holy See",),
    "VN": ("Viet Nam",),
}
"""Names in common use that neither GeoNames' country list nor CLDR has, by ISO code."""


def folded_name(name: str) -> str:
    """Return a name without accents, case and punctuation, as the full-text index compares it."""
    return " ".join(re.findall(r"\w+", fold(search_name(name))))


def aliases(name: str, others: Iterable[str], taken: Collection[str] = ()) -> list[str]:
    """Return the alternate names worth keeping: in Latin script, of four characters or more, each spelling once.

    `taken` are folded names that mean something else and are left out.
    """
    seen = {folded_name(name)}
    kept = []
    for other in sorted(others):
        folded = folded_name(other)
        if len(other) >= MIN_CHARS and _LATIN_NAME.fullmatch(other) and folded not in seen and folded not in taken:
            seen.add(folded)
            kept.append(other)
    return kept
