"""The languages that names are wanted in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...engine.errors import InputError
from ..message_text import shown

DEFAULT_LANGUAGES = ("en",)
ALL = "*"


@dataclass(frozen=True, slots=True)
class Languages:
    """Languages in the order of preference, lower case, and whether all others are wanted too."""

    preferred: tuple[str, ...]
    all_others: bool

    @classmethod
    def of(cls, languages: Sequence[str]) -> Languages:
        """Return the languages with these tags, among which `*` stands for all others."""
        tags = [tag.strip().lower() for tag in languages]
        for tag in tags:
            if tag != ALL and not tag.replace("-", "").isalnum():
                raise InputError(f"expected a language such as en or pt-br, or * for all, found {shown(tag)}")
        return cls(tuple(dict.fromkeys(tag for tag in tags if tag != ALL)), ALL in tags)

    def parameters(self) -> dict[str, object]:
        """Return the parameters `languages` and `all_languages` of parsers."""
        return {"languages": list(self.preferred), "all_languages": self.all_others}

    def as_options(self) -> list[str]:
        """Return the languages as they are given."""
        return [*self.preferred, *([ALL] if self.all_others else [])]
