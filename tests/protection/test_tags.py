"""Fifty English sentences with tags, and where they belong in Romanian.

The cases were written before any model had translated them, and are not changed afterwards. Each says which Romanian
words translate the words of its sentence, as beginnings of words in whichever inflection, without diacritics. Another
model may choose other words: what counts is that an element holds what its words became and nothing of the others.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import regex

from alidade.translator import Translator

Gloss = Mapping[str, str]
"""For words of the source the beginnings of the words that translate them."""

CASES: list[tuple[str, Gloss]] = [
    (
        "Type your <b>name</b> in the first field.",
        {"Type": "scri|introdu|tast", "name": "nume", "first": "prim", "field": "camp"},
    ),
    (
        "The <i>red</i> car belongs to my neighbour.",
        {"red": "ros", "car": "masin|autoturism|automobil", "belongs": "apartin|este", "neighbour": "vecin"},
    ),
    (
        "Click the <b>Cancel</b> button to stop the download.",
        {
            "Click": "clic|apas|da|fac",
            "Cancel": "anul|renunt|cancel|revoc|abandon",
            "button": "buton",
            "stop": "opr|intrerup|stop",
            "download": "descarc",
        },
    ),
    ("<b>Error:</b> the printer is out of paper.", {"Error": "eroar|eror", "printer": "impriman", "paper": "harti"}),
    (
        'To learn more, read our <a href="https://example.org/help">help page</a>.',
        {"learn": "afl|invat", "more": "mult", "read": "cit", "help": "ajut|asist", "page": "pagin"},
    ),
    (
        "The <em>big</em> dog barked at the <strong>small</strong> cat.",
        {"big": "mare|mari", "dog": "cain", "barked": "latr", "small": "mic", "cat": "pisic|mat"},
    ),
    ("Do you really want to delete <b>%s</b>?", {"really": "chiar|sigur", "want": "dor|vre", "delete": "sterg|elimin"}),
    (
        "The <b>username</b> or the <b>password</b> is wrong.",
        {"username": "utiliz|nume|user", "password": "parol", "wrong": "gres|incorect|eronat|fals|invalid"},
    ),
    (
        "Your session will end in <b>5 minutes</b>.",
        {"session": "sesiun", "end": "termin|inche|inchi|expir|sfars", "5": "5|cinci", "minutes": "minut"},
    ),
    (
        'You must accept the <a href="#">terms of service</a> before you continue.',
        {
            "accept": "accept",
            "terms": "termen|conditi",
            "service": "servici|utiliz|folos",
            "before": "inaint",
            "continue": "continu",
        },
    ),
    (
        "She has <b>two</b> brothers and <i>three</i> sisters.",
        {"has": "are", "two": "doi|dou", "brothers": "frat", "three": "tre", "sisters": "suror|sor"},
    ),
    (
        "The <b>total size</b> of the files is {size}.",
        {"total": "total", "size": "marim|dimensi", "files": "fisier"},
    ),
    (
        '<a href="/login">Log in</a> to see your messages.',
        {"Log": "autentific|conect|log|inreg|intr", "see": "ved|vad|vez|vizual|afis", "messages": "mesaj"},
    ),
    ("We could not find the <code>config.ini</code> file.", {"find": "gas", "file": "fisier"}),
    (
        "He drinks <b>black coffee</b> every morning.",
        {"drinks": "be", "black": "negr|neagr", "coffee": "cafe", "morning": "dimine"},
    ),
    (
        "Press <kbd>Enter</kbd> to open the <b>selected folder</b>.",
        {"Press": "apas", "open": "deschi", "selected": "select|ales|marc", "folder": "dosar|director|folder|map"},
    ),
    (
        "The window on the <i>left</i> shows the list of users.",
        {
            "window": "fereastr|ferestr",
            "left": "stang",
            "shows": "arat|afis|prezint",
            "list": "list",
            "users": "utiliz",
        },
    ),
    ("This is the <b>most important</b> question.", {"important": "important", "question": "intreb|problem|chestiun"}),
    (
        "<b>Tip</b>: you can change the language at any time.",
        {
            "Tip": "sfat|sugest|indici|pont|truc|recomand",
            "change": "schimb|modific",
            "language": "limb",
            "time": "moment|oric|cand|timp",
        },
    ),
    (
        "The meeting starts <u>tomorrow</u> at nine o'clock.",
        {
            "meeting": "intaln|sedint|reuniun|intrun",
            "starts": "incep|porn",
            "tomorrow": "maine",
            "nine": "nou|9",
            "o'clock": "or",
        },
    ),
    (
        "All <b>unsaved</b> changes will be lost.",
        {
            "All": "toat|orice",
            "unsaved": "nesalv|salv|neinreg|nememor",
            "changes": "modific|schimb",
            "lost": "pierd|pierz",
        },
    ),
    (
        "<i>Maria</i> sent a letter to her <b>grandmother</b>.",
        {"Maria": "mari", "sent": "trim|exped", "letter": "scris", "grandmother": "bunic"},
    ),
    (
        "The <b>maximum</b> number of attempts is <b>%d</b>.",
        {"maximum": "maxim", "number": "numar", "attempts": "incerc|tentativ"},
    ),
    (
        "Choose a <b>strong</b> password with at least eight characters.",
        {
            "Choose": "aleg|select",
            "strong": "puternic|sigur|tare|complex",
            "password": "parol",
            "eight": "opt|8",
            "characters": "caract",
        },
    ),
    (
        'If you have <a href="mailto:help@example.org">questions</a>, write to us.',
        {"have": "av|ai", "questions": "intreb|nelamur", "write": "scri"},
    ),
    (
        "The old man sat under a <b>tall tree</b>.",
        {
            "old": "batran|vechi",
            "man": "om|barbat",
            "sat": "sta|sez|asez",
            "tall": "inalt|mare",
            "tree": "copac|arbor|pom",
        },
    ),
    (
        "Remove the <b>battery</b> before you open the <b>device</b>.",
        {
            "Remove": "scoat|elimin|inlatur|sterg|indepart",
            "battery": "bateri|acumul",
            "before": "inaint",
            "open": "deschi",
            "device": "dispozitiv|aparat",
        },
    ),
    (
        "The <b>French</b> teacher speaks <i>slowly</i>.",
        {"French": "france|frant", "teacher": "prof|invatat", "speaks": "vorb", "slowly": "incet|lent|rar"},
    ),
    ("Your order was sent <b>yesterday</b>.", {"order": "comand|ordin", "sent": "trim|exped", "yesterday": "ieri"}),
    (
        "Could not connect to <b>{host}</b> because the <i>address</i> is invalid.",
        {
            "connect": "conect",
            "because": "deoarece|pentru|caci|fiindca",
            "address": "adres",
            "invalid": "invalid|nevalid|incorect",
        },
    ),
    (
        "It is <b>forbidden</b> to smoke in this building.",
        {"forbidden": "interzi|nepermis", "smoke": "fum", "building": "cladir|imobil"},
    ),
    (
        "Drag the <b>image</b> to the <b>trash</b>.",
        {"Drag": "trag|glis", "image": "imagin|poz", "trash": "gunoi|cos|trash|recicl"},
    ),
    ("<strong>Attention!</strong> The door is open.", {"Attention": "atent", "door": "us", "open": "deschi"}),
    (
        "I have <b>never</b> seen such a beautiful place.",
        {"never": "niciodat|nicicand", "seen": "vaz", "beautiful": "frumo", "place": "loc"},
    ),
    (
        'The <a href="x">second chapter</a> describes the <i>installation</i>.',
        {"second": "doi|dou", "chapter": "capitol", "describes": "descri|prezint", "installation": "instal"},
    ),
    (
        "Only the <b>administrator</b> can change these settings.",
        {
            "Only": "doar|numai",
            "administrator": "administr",
            "change": "schimb|modific",
            "settings": "setar|configur|optiun|reglaj|prefer",
        },
    ),
    (
        "The <b>blue</b> and <b>yellow</b> flowers are in the garden.",
        {"blue": "albastr", "and": "si", "yellow": "galben", "flowers": "flor", "garden": "gradin"},
    ),
    ("My father works in a <b>hospital</b>.", {"father": "tat", "works": "lucr|munc", "hospital": "spital"}),
    (
        "Enter the <b>e-mail address</b> of the <i>new</i> user.",
        {
            "Enter": "introdu|scri",
            "e-mail": "e-mail|email|mail|post|electronic",
            "address": "adres",
            "new": "nou",
            "user": "utiliz",
        },
    ),
    (
        "<p>The backup is <b>complete</b>.</p>",
        {"backup": "copi|backup|rezerv|sigurant|salv", "complete": "complet|termin|finaliz|incheia|gata|intreg"},
    ),
    (
        '<a href="/cart">Your <b>shopping cart</b> is empty</a>',
        {"shopping": "cump", "cart": "cos|caruc", "empty": "gol|vid"},
    ),
    (
        "There are <b>no</b> results for this search.",
        {"are": "exist|sunt|avem", "no": "nu|nici|fara|zero", "results": "rezult", "search": "caut"},
    ),
    (
        "Hold down the <kbd>Shift</kbd> key while you <b>click</b>.",
        {"Hold": "tin|apas|menti", "key": "tast|chei", "click": "clic|apas|fac|da"},
    ),
    (
        "The <b>user's guide</b> is available in ten languages.",
        {
            "user's": "utiliz",
            "guide": "ghid|manual|indrum",
            "available": "dispon",
            "ten": "zec|10",
            "languages": "limb",
        },
    ),
    ("Save the file.<br/>Then close the window.", {"Then": "apoi|atunci|dupa|ulterior"}),
    ("Before you leave,<br>turn off the computer.", {"turn": "opr|inchi|sting|dezactiv"}),
    ('The picture <img src="a.png"/> shows a house.', {"shows": "arat|afis|prezint|reprezint"}),
    ('Wait <x id="7"/>until the light is green.', {"until": "pan"}),
    (
        "The <b><i>quick</i> reply</b> surprised everyone.",
        {
            "quick": "rapid|iute|prompt|reped",
            "reply": "raspuns|replic",
            "surprised": "surprin|uim|mir",
            "everyone": "to",
        },
    ),
    (
        "The <b>weather</b> was cold, so we stayed at <i>home</i>.",
        {"weather": "vrem|timp", "cold": "rec|frig", "stayed": "ramas|stat", "home": "acas"},
    ),
]

FUNCTION_WORDS = frozenset(
    {"a", "al", "ai", "ale", "de", "la", "pe", "in", "din", "cu", "pentru", "lui", "un", "o", "unui", "unei"}
    | {"cel", "cea", "cei", "cele", "mai", "sa", "se", "este", "e", "sunt", "care", "prin"}
)
"""May stand in an element before its last word: "de salvare", "cele mai noi"."""


MOST_WRONG = 4
"""What the model in the box reaches. The aim is 95 %, two cases; see experiments/LOG.md for those that are wrong."""


@functools.cache
def translator() -> Translator:
    return Translator(threads=1)


@dataclass(frozen=True)
class Verdict:
    is_placed: bool
    """The tags stand where the words went, whichever words the model chose."""
    is_right: bool
    """And the words inside are a right translation of the words inside."""


def judge(source: str, target: str, gloss: Gloss) -> Verdict:
    wanted, found = elements(source), elements(target)
    if sorted(tag for tag, _, _ in wanted) != sorted(tag for tag, _, _ in found):
        return Verdict(False, False)
    verdicts = []
    for tag, inner, after in wanted:
        verdicts.append(max((judge_element(inner, after, f, target, gloss) for f in found if f[0] == tag), key=rank))
    return Verdict(all(one.is_placed for one in verdicts), all(one.is_right for one in verdicts))


def rank(verdict: Verdict) -> int:
    return verdict.is_placed + verdict.is_right


def judge_element(
    inner: str | None, after: str, found: tuple[str, str | None, str], target: str, gloss: Gloss
) -> Verdict:
    """inner, after: what an element of the source holds (None: nothing can), and what follows it there."""
    _, target_inner, target_after = found
    if inner is None or target_inner is None:
        is_right = begins(words(target_after)[:1], gloss[words(after)[0]])
        return Verdict(is_right, is_right)
    held, everywhere = words(target_inner), words(regex.sub(r"<[^>]*>", " ", target))
    own = {word: gloss[word] for word in words(inner) if word in gloss}
    if not own:  # a placeholder, or what is kept as it is
        return Verdict(target_inner.strip() == inner, target_inner.strip() == inner)
    others = [stems for word, stems in gloss.items() if word not in own]
    missing = [word for word, stems in own.items() if not begins(held, stems)]
    is_elsewhere = any(begins(everywhere, own[word]) for word in missing)
    content = [word for word in held if not any(begins([word], stems) for stems in own.values())]
    foreign = [word for word in content if any(begins([word], stems) for stems in others)]
    unknown = [word for word in content if plain(word) not in FUNCTION_WORDS]
    is_placed = bool(held) and not is_elsewhere and not foreign and len(unknown) <= 2 * len(missing)
    ends_well = bool(held) and plain(held[-1]) not in FUNCTION_WORDS
    return Verdict(is_placed and (ends_well or bool(missing)), is_placed and not missing and not unknown and ends_well)


def elements(text: str) -> list[tuple[str, str | None, str]]:
    """The elements of a text: the opening tag, what it holds, and what follows the tag."""
    found: list[tuple[str, str | None, str]] = []
    for opening in regex.finditer(r"<(\w+)[^>/]*(?:\"[^\"]*\")?[^>/]*(/?)>", text):
        after = regex.sub(r"<[^>]*>", " ", text[opening.end() :])
        if opening[2] or opening[1] == "br":
            found.append((opening[0], None, after))
            continue
        closing = text.find(f"</{opening[1]}>", opening.end())
        inner = regex.sub(r"<[^>]*>", " ", text[opening.end() : closing])
        found.append((opening[0], inner, after))
    return found


def words(text: str) -> list[str]:
    return regex.findall(r"[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*", text)


def plain(word: str) -> str:
    """In small letters, without diacritics."""
    return "".join([c for c in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(c)])


def begins(held: list[str], stems: str) -> bool:
    """Whether a word begins in one of these ways."""
    return any(plain(word).startswith(tuple(stems.split("|"))) for word in held)


@pytest.mark.parametrize(
    ("target", "is_placed", "is_right"),
    [
        ("Mașina <i>roșie</i> este a vecinului.", True, True),
        ("Mașina <i>de roșie</i> este a vecinului.", True, True),
        ("<i>Mașina</i> roșie este a vecinului.", False, False),
        ("<i>Mașina roșie</i> este a vecinului.", False, False),
        ("Mașina <i></i>roșie este a vecinului.", False, False),
        ("Mașina roșie este a vecinului.", False, False),
        ("Mașina <i>verde</i> este a vecinului.", True, False),
        ("<i>Mașina</i> verde este a vecinului.", False, False),
        ("Mașina <i></i>este a vecinului.", False, False),
    ],
)
def test_the_judge_is_strict(target: str, is_placed: bool, is_right: bool) -> None:
    source, gloss = CASES[1]
    assert judge(source, target, gloss) == Verdict(is_placed, is_right)


def test_tags_stand_around_the_right_words() -> None:
    translations = translator().translate_all([source for source, _ in CASES], with_links=False)
    judged = [
        (judge(source, one.text, gloss), one.text) for one, (source, gloss) in zip(translations, CASES, strict=True)
    ]
    wrong = [text for verdict, text in judged if not verdict.is_placed]
    assert len(CASES) == 50
    assert len(wrong) <= MOST_WRONG, wrong
