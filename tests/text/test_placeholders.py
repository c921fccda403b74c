"""Everything that must survive a translation is found, and ordinary text is left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alidade.text.placeholders import find_placeholders, same_placeholders

KINDS = {
    "printf": "%s %d %(name)s %1$s %-5.2f %.2f %@ %1$@ %% %5d %*d %zu %lu %ld %I64d %L1 %1 %{name} %<n>s %[1]d %'d %m",
    "brace": "{} {0} {name} {name!r:>5} {:>10} {user.name} {items[0]}",
    "template": "{{x}} ${var} #{x} $name $1 %count% __name__ $(ARG1) {{{x}}} $HOME $user->name <file> [[x]]",
    "tag": "<b> </b> <br/> <br> &lt;b&gt; </custom>",
    "entity": "&amp; &nbsp; &#8230; &#x1F600; &brandShortName; &&",
    "url": "http://example.com/a?b=c#d https://x.org www.foo.ro example.com/path ftp://a.b/c about:config mailto:a@b.c",
    "email": "user@example.com first.last+tag@mail.example.org",
    "path": r"/usr/lib/foo ~/.config/x ./run.sh ../x/y C:\Windows\System32 docs/readme.txt text/plain /etc /usr/bin/*",
    "header": "Reply-To: X-Spam-Score: Content-Type: Message-ID:",
    "option": "--single-transaction --foo=BAR --in-place[=SUFFIX] -f -Wall -std=c99 --help",
    "identifier": "user_id config.yml ERROR_NOT_FOUND fooBar os.path.join main() 0x1F @maria .bashrc foo::bar macOS",
    "version": "1.2.3 v2 v2.0-rc1 10.0.0.1 2.38.1",
    "keys": "Ctrl+Alt+Del Shift+F10 Ctrl+C",
    "emoji": "😀 👨‍👩‍👧 🇷🇴 👍🏽 1️⃣ → ✅",
    "escape": r"\n \t \" \u00e9 \\ \x1b",
}
SINGLE = [(kind, text) for kind, texts in KINDS.items() for text in texts.split()] + [
    ("template", "{{ user.name | upper }}"),
    ("template", "{% if x %}"),
    ("template", "<file name>"),
    ("brace", "{ $user }"),
    ("brace", "{count, number}"),
    ("brace", "{0,date,short}"),
    ("tag", '<x id="5"/>'),
    ("tag", '<a href="https://x.org/?a=b" target="_blank">'),
    ("icu", "{n, plural, one {# file} other {# files in {folder}}}"),
    ("icu", "{sex, select, female {her} other {their}}"),
    ("path", r"C:\Program Files\App"),
]


@pytest.mark.parametrize(("kind", "text"), SINGLE)
def test_finds_each_kind_whole_inside_a_sentence(kind: str, text: str) -> None:
    message = f"Open the {text} thing, please."
    [found] = find_placeholders(message)
    assert (found.kind, found.text) == (kind, text)
    assert message[found.start : found.end] == text


@pytest.mark.parametrize(
    "text",
    """100 % of users|and/or|e.g. this, i.e. that|50%|50% discount|5%igen|R&D and AT&T, Q&A|km/h|24/7|TCP/IP
yes/no/cancel|a.m.|U.S.A.|Tom & Jerry|100%.|50%-60% off|3.5 GB|well-known|{not closed|1,000.50|C++
12:30|-5 degrees|x - y|a -- b
his/her|audio/video|$5.99|$100|Mr.Smith|end.Next|I/O|10 %|20 % or more|The 100% discount|% of total|A/B testing|w/o
a<b and c>d|x < y|if a & b|Ph.D.|0.5%|read/write|e-mail|file(s)|[optional]|#1|Don't|Find & Replace|snake|_|~5 minutes
The value is 5 % d'or|I said no!|rock 'n' roll|JavaScript|PLEASE WAIT|one.|Wi-Fi|3.14""".replace("\n", "|").split("|"),
)
def test_leaves_ordinary_text_alone(text: str) -> None:
    assert find_placeholders(text) == ()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("&File", [0]),
        ("E&xit", [1]),
        ("_Open", [0]),
        ("Sa_ve As…", [2]),
        ("Select A_ll", [8]),
        ("~Edit", [0]),
        ("&Find & Replace", [0]),
        ("Save && Quit", []),
        ("_one _two", []),
        ("Set user_id", []),
        ("R&D", []),
        ("Please do not _underline_ anything.", []),
    ],
)
def test_finds_the_marks_of_accelerators(text: str, places: list[int]) -> None:
    assert [found.start for found in find_placeholders(text) if found.kind == "accelerator"] == places


def test_finds_what_stands_at_the_ends() -> None:
    found = find_placeholders("  Open file…\n")
    assert [(p.kind, p.text) for p in found] == [("space", "  "), ("punctuation", "…"), ("space", "\n")]
    assert [p.text for p in find_placeholders("Name:")] == [":"]
    assert find_placeholders("That is all.") == ()
    assert [p.kind for p in find_placeholders(" \n")] == ["space"]


def test_only_what_says_which_argument_it_takes_may_swap() -> None:
    found = find_placeholders("%s %1$s {} {0} {name} %(x)d %% %d https://x.org")
    assert [p.text for p in found if not p.may_swap] == ["%s", "{}", "%d"]


def test_compares_two_messages() -> None:
    def same(source: str, target: str) -> bool:
        return same_placeholders(find_placeholders(source), find_placeholders(target))

    assert same("%1$s of %2$s", "din %2$s %1$s")
    assert same("%s: %d", "%s: %d")
    assert not same("%s: %d", "%d: %s")
    assert not same("%s and %s", "%s")
    assert not same("%s", "%s %s")


def test_tells_markup_from_an_argument_in_angle_brackets() -> None:
    assert [p.kind for p in find_placeholders("copy <file> to <b>this</b> <folder>")] == [
        "template",
        "tag",
        "tag",
        "template",
    ]


@given(st.text(alphabet="%s(){}$#<>/&;:\\n_-.@ aB1'\"=~*!|,", max_size=60) | st.text(max_size=60))
def test_spans_are_in_order_and_say_what_stands_there(text: str) -> None:
    end = 0
    for found in find_placeholders(text):
        assert found.start >= end
        assert found.end > found.start
        assert text[found.start : found.end] == found.text
        end = found.end


@pytest.mark.parametrize(
    "unit",
    ["{", "%(", "<a ", "a.", "/a", "a_", "\\", "-", "a@", "{% ", "&lt;a ", "1.", "{{a", "www.", "x/", "aB", "<!--"],
)
def test_takes_no_time_for_hostile_text(unit: str) -> None:
    start = time.perf_counter()
    find_placeholders(unit * 2000)
    assert time.perf_counter() - start < 2
