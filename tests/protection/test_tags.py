"""Fifty English sentences with tags, and what belongs inside them in Romanian: 95 % must be right with the model.

The patterns allow for other words than the present model's: what counts is which word of its sentence is wrapped.
"""

from __future__ import annotations

import functools

import regex

from alidade.translator import Translator

CASES: list[tuple[str, list[str]]] = [
    ("Click <b>here</b> to continue.", ["aici"]),
    ("Open the <b>red</b> door.", ["ro[șs]\\w+"]),
    ("The <i>old</i> house is <b>big</b>.", ["(cea )?(vech\\w+|bătrân\\w*)", "mare"]),
    ("Press the <b>Save</b> button.", ["(de )?sal\\w+"]),
    ("Read the <a>user manual</a> first.", ["manualu?l? (de utilizat\\w+|utilizator\\w+)"]),
    ("<b>Warning:</b> the disk is full.", ["(avertis\\w+|atenți\\w+):"]),
    ("The file <i>{name}</i> was not found.", ["\\{name\\}"]),
    ("Select <b>File</b> from the main menu.", ["fișier\\w*"]),
    ("Your <b>password</b> is too short.", ["parol\\w+"]),
    ("Go to the <a>home page</a>.", ["pagin\\w+( (acasă|principală|de start|de pornire|inițială))?"]),
    ("<a>Forgot your password?</a>", [".*\\?"]),
    ("The <b>new version</b> is available.", ["(versiune\\w* nouă|noua versiune)"]),
    ("You have <b>3</b> new messages.", ["3"]),
    ("Delete the <b>selected</b> files?", ["selectat\\w*"]),
    ("The connection to the <b>server</b> failed.", ["server\\w*"]),
    ("Enter your <i>user name</i> and <i>password</i>.", ["numele( de)? utilizator\\w*", "parol\\w+"]),
    ("Do <b>not</b> close this window.", ["nu"]),
    ("<b>Note</b> that this may take several minutes.", ["(rețin\\w+|not\\w+|observa\\w+)"]),
    ("The <b>black cat</b> is sleeping.", ["pisica neagră"]),
    ("I bought a <b>new</b> car.", ["nou\\w*"]),
    ("He lives in a <i>small</i> village.", ["mic\\w*"]),
    ("She reads an <b>interesting book</b>.", ["carte interesantă"]),
    ("The <a>license agreement</a> has changed.", ["(acord\\w+|contract\\w+)( de licență| licenței)"]),
    ("See the <a>documentation</a> for more information.", ["documentați\\w+"]),
    ("Copy the <b>file</b> to the <i>folder</i>.", ["fișier\\w*", "dosar\\w*"]),
    ("The <b>printer</b> is not connected.", ["imprimant\\w+"]),
    ("Please <b>restart</b> the computer.", ["(să )?repor\\w+"]),
    ("Install the <b>latest</b> updates.", ["(cele mai )?(ultimele|recente|noi)"]),
    ("This program is <b>free software</b>.", ["software (liber|gratuit)|program\\w* (liber|gratuit)"]),
    ("My <b>brother</b> is a doctor.", ["frat\\w+"]),
    ("We need <i>more</i> time.", ["(de )?mai (mult|multe)"]),
    ("The <b>first</b> page is empty.", ["prima"]),
    ("Save the <b>changes</b> before closing?", ["(modific|schimb)\\w+"]),
    ("The <u>network</u> is not available.", ["rețe\\w+"]),
    ("Change the <b>font size</b>.", ["(dimensiun|mărim)\\w+( de)? font\\w*"]),
    ("Show <b>hidden</b> files.", ["ascuns\\w*"]),
    ("The <b>image</b> could not be loaded.", ["imagin\\w+"]),
    ("<i>Tom</i> gave <b>Mary</b> a book.", ["tom", "((pe|lui) )?mary"]),
    ("The <b>white</b> <i>horse</i> is running.", ["alb\\w*", "cal\\w*"]),
    ("Create a <b>new folder</b> here.", ["(dosar nou|nou dosar)"]),
    ("The <b>installation</b> was successful.", ["instal\\w+"]),
    ("Check the <a>system settings</a>.", ["(setăr|configur|opțiun)\\w+( de)? sistem\\w*"]),
    ("Turn off the <b>light</b>.", ["lumin\\w+"]),
    ("Use the <b>mouse</b> to select text.", ["(mouse|maus)\\S*"]),
    ("Are you <b>sure</b> you want to quit?", ["sigur\\w*"]),
    ("The <b>current</b> directory is empty.", ["(curent|actual)\\w*"]),
    ("Line <b>%d</b>: syntax error.", ["%d"]),
    (
        "Visit <a>our website</a> for <b>details</b>.",
        ["(pagina|sit\\S*)( web| nostru| noastră)*", "detali\\w+"],
    ),
    ("The <b>keyboard</b> does not work.", ["tast\\w+"]),
    ("The <i>green</i> apple is <b>sweet</b>.", ["verde", "\\w+"]),
]


@functools.cache
def translator() -> Translator:
    return Translator(threads=1)


def test_tags_stand_around_the_right_words() -> None:
    translations = translator().translate_all([source for source, _ in CASES], with_links=False)
    wrong = [one.text for one, (_, expected) in zip(translations, CASES, strict=True) if not fits(one.text, expected)]
    assert len(CASES) == 50
    assert len(wrong) <= 0.05 * len(CASES), wrong


def fits(text: str, expected: list[str]) -> bool:
    """Whether the elements hold what is expected, in whichever order they stand."""
    inner = regex.findall(r"<\w+>(.*?)</\w+>", text)
    pattern = [regex.compile(one, regex.IGNORECASE) for one in expected]
    return len(inner) == len(pattern) and all(any(one.fullmatch(held) for held in inner) for one in pattern)
