"""Plural forms: how many a language has, which of them speaks of several things, and CLDR's names for them.

gettext numbers the forms, Android and ICU name them. Form 0 is the singular wherever there is more than one.
"""

from __future__ import annotations

import regex

from alidade.text.languages import primary_language

_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(["ja", "zh", "ko", "th", "vi", "id", "ms", "lo", "my", "km"], ("other",)),
    **dict.fromkeys(["ro", "mo"], ("one", "few", "other")),
    **dict.fromkeys(["ru", "uk", "be", "pl"], ("one", "few", "many", "other")),
    **dict.fromkeys(["hr", "sr", "bs"], ("one", "few", "other")),
    **dict.fromkeys(["cs", "sk"], ("one", "few", "many", "other")),
    **dict.fromkeys(["lt"], ("one", "few", "many", "other")),
    **dict.fromkeys(["lv"], ("zero", "one", "other")),
    **dict.fromkeys(["sl"], ("one", "two", "few", "other")),
    **dict.fromkeys(["ar"], ("zero", "one", "two", "few", "many", "other")),
    **dict.fromkeys(["ga"], ("one", "two", "few", "many", "other")),
    **dict.fromkeys(["cy"], ("zero", "one", "two", "few", "many", "other")),
}
_GETTEXT_FORMS = {"ru": 3, "uk": 3, "be": 3, "pl": 3, "cs": 3, "sk": 3, "lt": 3}
"""Where gettext's rule for whole numbers has fewer forms than CLDR has names."""


def plural_names(language: str) -> tuple[str, ...]:
    """CLDR's categories of a language's plurals; English's if nothing is known of it."""
    return _NAMES.get(primary_language(language), ("one", "other"))


def number_of_plurals(language: str) -> int:
    """gettext's nplurals."""
    return _GETTEXT_FORMS.get(primary_language(language), len(plural_names(language)))


def speaks_of_several(form: int, num_plurals: int) -> bool:
    """Whether a gettext form is made from the source's plural."""
    return form > 0 or num_plurals == 1


def with_preposition(forms: list[str]) -> list[str]:
    """Romanian's third form, from twenty on, has "de" between the number and what is counted: 20 de fișiere."""
    if len(forms) != 3:
        return forms
    return [*forms[:2], _NUMBER_BEFORE_WORD.sub(r"\1 de ", forms[2])]


_NUMBER_BEFORE_WORD = regex.compile(r"(%(?:\d+\$)?[ll']*[dui]|%(?:L?\d|n)\b|\{\w*\}|%\(\w+\)d) (?!de\b)(?=\p{Ll}{3})")


_SLAVIC = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2"
_RULES = {
    "ro": "n==1 ? 0 : n==0 || (n!=1 && n%100>=1 && n%100<=19) ? 1 : 2",
    **dict.fromkeys(["ru", "uk", "be", "sr", "hr", "bs"], _SLAVIC),
    "pl": "n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2",
    **dict.fromkeys(["cs", "sk"], "n==1 ? 0 : n>=2 && n<=4 ? 1 : 2"),
    "lt": "n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2",
    "lv": "n%10==0 || (n%100>=11 && n%100<=19) ? 0 : n%10==1 && n%100!=11 ? 1 : 2",
    "sl": "n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3",
    "ar": "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5",
    "ga": "n==1 ? 0 : n==2 ? 1 : n>2 && n<7 ? 2 : n>6 && n<11 ? 3 : 4",
    **dict.fromkeys(["fr", "pt"], "n>1"),
}


def plural_rule(language: str) -> str:
    """gettext's Plural-Forms; nothing for languages whose rule is not known here."""
    number = number_of_plurals(language)
    rule = _RULES.get(primary_language(language), {1: "0", 2: "n!=1"}.get(number, ""))
    return f"nplurals={number}; plural=({rule});" if rule else ""
