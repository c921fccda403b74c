"""Plural forms: CLDR's names for those of a language, gettext's numbers for them, and what Romanian asks of them.

Android, ICU and Fluent name the forms, gettext numbers them. CLDR's tables are here as far as they differ from
English's for counting ("1 file") and from a single form for ordering ("1st file"); which number takes which form is
decided by the programs that show a message. A test compares them with Babel's copy of CLDR, whose 33 MB are too many
to install for these lines.
"""

from __future__ import annotations

from typing import Literal

import regex

from alidade.text.languages import is_same_language, primary_language

CATEGORIES = frozenset({"zero", "one", "two", "few", "many", "other"})
Categories = tuple[str, ...]
Counting = Literal["cardinal", "ordinal"]


def plural_categories(language: str, counting: Counting = "cardinal") -> Categories:
    """CLDR's categories of a language, "other" last; English's, or a single one, if nothing is known of it."""
    name = primary_language(language)
    return _CARDINAL.get(name, ("one", "other")) if counting == "cardinal" else _ORDINAL.get(name, ("other",))


def number_of_plurals(language: str) -> int:
    """gettext's nplurals."""
    return _GETTEXT_FORMS.get(primary_language(language), len(plural_categories(language)))


def speaks_of_several(form: int, num_plurals: int) -> bool:
    """Whether a gettext form is made from the source's plural. Form 0 is the singular if there is more than one."""
    return form > 0 or num_plurals == 1


def with_preposition(text: str, language: str) -> str:
    """The form for large numbers: Romanian, from twenty on, has "de" after the number: 20 de fișiere."""
    return _NUMBER_BEFORE_WORD.sub(r"\1 de ", text) if is_same_language(language, "ro") else text


_NUMBER_BEFORE_WORD = regex.compile(
    r"(%(?:\d+\$)?[hljztqL']*[dui]|%(?:L?\d|n)\b|\{+\s*\$?\w*\s*\}+|%\(\w+\)d|#) (?!de\b)(?=\p{Ll}{3})"
)


def _table(groups: dict[str, str]) -> dict[str, Categories]:
    return {
        language: (*categories.split(), "other") for categories, names in groups.items() for language in names.split()
    }


_CARDINAL = _table(
    {
        "": "bm bo dz hnj id ig ii ja jbo jv kde kea km ko lkt lo ms my nqo osa sah ses sg su th to vi wo yo yue zh",
        "one few": "bs hr mo ro sh shi sr",
        "one few many": "be cs lt pl ru sk uk",
        "one many": "ca es fr ht it lld pt scn vec",
        "one two": "he iu iw naq sat se sma smj smn sms",
        "one two few": "dsb gd hsb sl",
        "one two few many": "br ga gv mt",
        "zero one": "blo ksh lag lv prg",
        "zero one two few many": "ar cy kw",
    }
)
_ORDINAL = _table(
    {
        "few": "be tk uk",
        "many": "it kk lij lld sc scn vec",
        "one": "bal fil fr ga ht hu hy lo mo ms ne ro sv tl vi",
        "one few many": "az",
        "one many": "ka kw sq",
        "one two few": "ca en gd mr",
        "one two few many": "as bn gu hi or",
        "one two many": "mk",
        "zero one few": "blo",
        "zero one two few many": "cy",
    }
)

_GETTEXT_FORMS = {
    **dict.fromkeys(["ru", "uk", "be", "pl", "cs", "sk", "lt"], 3),
    **dict.fromkeys(["ca", "es", "fr", "it", "pt", "he"], 2),
}
"""Where gettext's rule for whole numbers has fewer forms than CLDR has names."""

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
