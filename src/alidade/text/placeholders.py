"""Placeholders: what a translation must carry over to the byte, found in a message's text.

A program crashes on a lost `%s`, a link dies of a translated address. `find_placeholders` finds format directives,
template variables, tags and entities, addresses, paths, options, identifiers, versions and emoji, the marks of
accelerators and the white space and punctuation at a message's ends. Plain strings in, spans out: nothing here knows a
model. Each kind's pattern says what it must not take: "100 % of", "and/or", "e.g." and "R&D" are ordinary text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import regex

Kind = Literal[
    "printf",
    "brace",
    "template",
    "icu",
    "tag",
    "entity",
    "url",
    "email",
    "path",
    "header",
    "option",
    "identifier",
    "version",
    "keys",
    "emoji",
    "escape",
    "accelerator",
    "space",
    "punctuation",
    "foreign",  # words in a script that a model has never seen: found by what knows the model
]


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A stretch text[start:end] of a message that stays as it is."""

    kind: Kind
    start: int
    end: int
    text: str
    order: str = ""
    """Placeholders with the same order (and one at all) may not swap places: `%s %d` are told apart by nothing else."""

    @property
    def may_swap(self) -> bool:
        """Whether it may stand on either side of others: `%1$s` and `{name}` may, `%s` and `{}` may not."""
        return not self.order

    @property
    def is_word(self) -> bool:
        """Whether it takes part in the sentence as a word does; a tag or a line break stands between words."""
        return self.kind not in BETWEEN_WORDS


BETWEEN_WORDS: frozenset[Kind] = frozenset(["tag", "escape", "accelerator", "space", "punctuation"])


def find_placeholders(text: str) -> tuple[Placeholder, ...]:
    """The placeholders of a message from left to right, without overlaps."""
    if not _SUSPECT.search(text):  # most sentences
        return tuple(_outer(text, []))
    found = _remove_overlaps([*_find_icu(text), *_find_by_pattern(text)])
    found = _with_accelerator(text, _tell_tags_from_arguments(found))
    return tuple(sorted([*found, *_outer(text, found)], key=lambda placeholder: placeholder.start))


_SUSPECT = regex.compile(r"[^\p{L}\d ',;!?.]|\p{Ll}\p{Lu}|\d\p{L}|\p{L}\d|\.[^ ]", regex.V1)
"""Text without any of these is words and marks alone, and needs no closer look."""


def same_placeholders(source: Sequence[Placeholder], target: Sequence[Placeholder]) -> bool:
    """Whether two messages have the same placeholders, those that may not swap in the same order."""
    if Counter([p.text for p in source]) != Counter([p.text for p in target]):
        return False
    return _in_order(source) == _in_order(target)


def _in_order(placeholders: Sequence[Placeholder]) -> dict[str, list[str]]:
    orders: dict[str, list[str]] = {}
    for placeholder in placeholders:
        if placeholder.order:
            orders.setdefault(placeholder.order, []).append(placeholder.text)
    return orders


def _remove_overlaps(found: list[Placeholder]) -> list[Placeholder]:
    kept: list[Placeholder] = []
    for placeholder in sorted(found, key=lambda p: (p.start, -p.end)):
        if not kept or placeholder.start >= kept[-1].end:
            kept.append(placeholder)
    return kept


def _find_by_pattern(text: str) -> Iterator[Placeholder]:
    for match in _ANY.finditer(text):
        kind: Kind = match.lastgroup  # type: ignore[assignment]  # the groups are named by kinds
        yield Placeholder(kind, match.start(), match.end(), match[0], _order_of(kind, match[0]))


def _order_of(kind: Kind, text: str) -> str:
    """printf's plain directives take their arguments one after the other, and so do empty braces."""
    if kind == "printf" and _PLAIN_DIRECTIVE.match(text):
        return "printf"
    return "brace" if kind == "brace" and _PLAIN_BRACE.match(text) else ""


_PLAIN_DIRECTIVE = regex.compile(r"%(?![%(\[{<]|\d+\$|L?\d+$|\w{3,}%$|m$)")
_PLAIN_BRACE = regex.compile(r"\{\s*[:!}]")


def _find_icu(text: str) -> Iterator[Placeholder]:
    """Arguments with branches, `{count, plural, one {# file} other {# files}}`, as a whole each."""
    start = 0
    while match := _ICU_START.search(text, start):
        end = closing_brace(text, match.start())
        if end is None:
            return
        yield Placeholder("icu", match.start(), end, text[match.start() : end])
        start = end


_ICU_START = regex.compile(r"\{\s*[\w.]+\s*,\s*(?:plural|selectordinal|select)\s*,")


def closing_brace(text: str, start: int) -> int | None:
    """Where the brace that opens at `start` has been closed; None: nowhere. Apostrophes quote braces, as in ICU."""
    depth, place = 0, start
    while match := _BRACE_OR_QUOTED.search(text, place):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        place = match.end()
        if depth == 0:
            return place
    return None


_BRACE_OR_QUOTED = regex.compile(r"[{}]|'[{}#|](?:[^']|'')*+'")


def _tell_tags_from_arguments(found: list[Placeholder]) -> list[Placeholder]:
    """`<file>` in "Usage: copy <file>" is a word of the sentence: no known element, no attribute, never closed."""
    closed = {_tag_name(p.text) for p in found if p.kind == "tag" and _CLOSING_TAG.match(p.text)}

    def is_argument(p: Placeholder) -> bool:
        name = _tag_name(p.text)
        return _BARE_TAG.fullmatch(p.text) is not None and name not in closed and not _ELEMENT.fullmatch(name)

    return [replace(p, kind="template") if p.kind == "tag" and is_argument(p) else p for p in found]


def _tag_name(tag: str) -> str:
    name = _TAG_NAME.search(tag)
    return name[0].lower() if name else ""


_TAG_NAME = regex.compile(r"(?<=^(?:<|&lt;)/?)[\w:.-]+")
_CLOSING_TAG = regex.compile(r"(?:<|&lt;)/")
_BARE_TAG = regex.compile(r"(?:<|&lt;)[\w:. -]+(?:>|&gt;)")
_ELEMENT = regex.compile(
    "a|abbr|b|bdi|bdo|big|br|button|center|cite|code|dd|del|dfn|div|dl|dt|em|font|h[1-6]|hr|i|img|input|ins|kbd|label|li|"
    "mark|ol|p|pre|q|s|samp|small|span|strike|strong|sub|sup|table|tbody|td|th|tr|tt|u|ul|var|wbr"
)


def _with_accelerator(text: str, found: list[Placeholder]) -> list[Placeholder]:
    """With the mark before the letter of a label that a key chooses: `&File`, `_Open`, `E&xit`, `Sa_ve As…`, `~Edit`.

    "Sa_ve" looks like an identifier; in a label that starts with a capital letter it is none.
    """
    taken = {place for p in found if p.kind != "identifier" for place in range(p.start, p.end)}
    for mark, pattern in _ACCELERATORS.items():
        places = [match.start() for match in pattern.finditer(text) if match.start() not in taken]
        if len(places) == 1 and (mark == "&" or (_is_label(text) and text.count(mark) == 1)):
            accelerator = Placeholder("accelerator", places[0], places[0] + 1, mark)
            return [p for p in found if p.end <= places[0] or p.start > places[0]] + [accelerator]
    return found


def _is_label(text: str) -> bool:
    """Labels are short and no sentences."""
    return len(text) <= _LONGEST_LABEL and (text.endswith("...") or not text.rstrip().endswith((".", "!")))


_LONGEST_LABEL = 60
_ACCELERATORS = {
    # neither "Find & Replace" nor "&&" nor "R&D"
    "&": regex.compile(r"(?<![\p{L}\p{N}&])&\p{L}|(?<=\p{L})&\p{Ll}{2}|(?<=\p{L}{2})&\p{Ll}", regex.V1),
    "_": regex.compile(r"(?<![\p{L}\p{N}_])_\p{L}|(?<=\b\p{Lu}\p{Ll}{0,9})_\p{Ll}", regex.V1),
    "~": regex.compile(r"(?<![\p{L}\p{N}])~\p{L}|(?<=\p{L})~\p{Ll}", regex.V1),
}


def _outer(text: str, found: Sequence[Placeholder]) -> Iterator[Placeholder]:
    """White space at both ends and the punctuation at the end."""
    if not text.strip():
        if text:
            yield Placeholder("space", 0, len(text), text)
        return
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if start:
        yield Placeholder("space", 0, start, text[:start])
    punctuation = _FINAL_PUNCTUATION.search(text, 0, end)
    if punctuation and not any(p.end > punctuation.start() for p in found):
        yield Placeholder("punctuation", punctuation.start(), end, punctuation[0])
    if end < len(text):
        yield Placeholder("space", end, len(text), text[end:])


_FINAL_PUNCTUATION = regex.compile(r"(?<=[^\s.…:])\s?(?:\.{2,}|…|:)$")

# Which extensions make a file's name of "config.yml", and which domains an address of "example.com". Others need more
# to be taken for one: a missing space after a full stop looks the same.
_EXTENSIONS = (
    "7z|ai|apk|app|asc|avi|bak|bat|bin|bmp|bz2|c|cc|cfg|class|cmd|conf|cpp|crt|cs|css|csv|dat|db|deb|desktop|dll|dmg|doc|"
    "docx|dtd|env|eps|epub|exe|fb2|flac|flv|gif|gpg|gz|h|hpp|htm|html|ico|ics|ini|iso|jar|java|jpeg|jpg|js|json|jsx|key|"
    "kt|lock|log|lua|m4a|man|md|mkv|mo|mov|mp3|mp4|mpeg|mpg|msi|odp|ods|odt|ogg|otf|pdf|pem|php|pid|pl|png|po|pot|ppd|"
    "ppt|pptx|properties|ps|py|pyc|rar|rb|rc|rpm|rs|rst|rtf|scss|service|sh|so|sock|sql|sqlite|srt|svg|swf|tar|tex|tgz|"
    "tif|tiff|tmp|toml|ts|tsv|tsx|ttf|txt|vcf|vue|wav|webm|webp|whl|wma|wmv|woff|woff2|xcf|xhtml|xlf|xls|xlsx|xml|xpi|"
    "xsd|xsl|xz|yaml|yml|zip|zst"
)
_DOMAINS = "com|org|net|edu|gov|info|io|dev|eu|ro|de|fr|uk|it|es|nl|pl|us|ca|local|localhost|invalid|test"
_HEADERS = (
    "Accept(?:-[A-Z][a-z]+)?|Auto-Submitted|Authorization|Cache-Control|Content-[A-Z][A-Za-z]+(?:-[A-Z][a-z]+)*|"
    "Delivered-To|Disposition-Notification-To|DKIM-Signature|Envelope-To|Errors-To|Followup-To|If-[A-Z][a-z]+(?:-[A-Z]"
    "[a-z]+)*|In-Reply-To|List-[A-Z][a-z]+|Mail-Followup-To|Message-I[Dd]|MIME-Version|Mime-Version|Original-Recipient|"
    "Received-SPF|Reply-To|Resent-[A-Z][a-z]+|Return-Path|Set-Cookie|User-Agent|X-[A-Z][A-Za-z]*(?:-[A-Za-z]+)*"
)

_PATTERNS: dict[Kind, str] = {
    # an address: up to white space, a quote or a bracket, without a final mark
    "url": r"""
        (?: \b (?:https?|ftps?|sftp|ssh|git|file|irc|ircs|ldap|smb|ws|wss|rsync|data|chrome|about|magnet|tel|news)
            (?: :// | (?<=\b(?:data|about|magnet|tel|news)) : (?=[\w+?]) )
          | \b mailto: | \b www\. (?=\w) )
        [^\s<>"“”„«»'\\]* [\p{L}\p{N}/=&\#_\-~$+%}]
      | \b [a-z0-9][a-z0-9-]{0,62} (?: \. [a-z0-9-]{1,63} ){0,6} \. (?:_DOMAINS) (?![\w.-]{0,9}\w)
        (?: :\d+ )?
        (?: / [^\s<>"“”„«»'\\]* [\p{L}\p{N}/=&\#_\-~$+%}] | / )?""",
    "email": r"""
        (?<![\w.+-]) [\p{L}\p{N}_] [\p{L}\p{N}._+\-]{0,63}
        @ [\p{L}\p{N}\-]{1,63} (?: \. [\p{L}\p{N}\-]{1,63} ){1,8}""",
    # tags, comments, and tags written with entities
    "tag": r"""
        < (?: !--(?:[^-]|-(?!->)){0,2000}+-- | ![A-Za-z][^<>]* | \?[^<>]*\?
            | /? [A-Za-z][\w:.-]*
              (?: \s+ [\w:.@-]+ \s* = \s* (?: "[^"<]*" | '[^'<]*' | \\["'] [^"'<>\\]* \\["'] | [^\s"'<>\\=]+ )
                | \s+ (?:checked|controls|disabled|download|hidden|multiple|open|required|selected) )*
              \s*/? ) >
      | (?<!\w) < [A-Za-z][\w-]* (?: [ ] [\w-]+ )* >
      | &lt; /? [A-Za-z][\w:.-]* (?: \s (?:(?!&[lg]t;)[^<>])*+ )? /? &gt;""",
    "entity": r"&& | & (?: [A-Za-z][A-Za-z0-9._]{1,31} | \#\d{1,7} | \#[xX][0-9a-fA-F]{1,6} ) ;",
    # {% … %}, {{x}}, ${var}, #{x}, $(x), $t(key), $name, $1, [[x]], __name__, %name%
    "template": r"""
        \{% (?: [^%] | %(?!\}) ){0,500}+ %\} | \{\# [^\#}]* \#\}
      | \{\{\{ [^{}]* \}\}\} | \{\{ [^{}]* \}\}
      | [$\#@] \{ [^{}]* \} | \$\( [\w ./-]+ \) | \$t\( [^()]* \)
      | (?<![\w$]) \$ [a-z_][A-Za-z0-9_]*+ (?: (?:->|\.) [a-z_]\w* )* | (?<![\w$]) \$ [A-Z_]{3,} \b
      | (?<![\w$]) \$ \d (?! [\d.,]*\d )
      | (?<![\w%]) % [A-Za-z_][\w.-]{2,30} % (?! [\w%($] )
      | \[\[ [^\[\]]* \]\]
      | (?<!\w) __ [A-Za-z0-9]+ (?: _[A-Za-z0-9]+ )* __ (?!\w)""",
    # %s, %1$s, %(name)s, %-5.2f, %%, %@, %1$@, %1, %L1, %{name}, %<name>s, %[1]d; neither "100 % of" nor "5%igen"
    "printf": r"""
        %% | %\( [\w.\- ]+ \) [\-+\#0-9.]* [a-zA-Z] | %\{ [\w.\- ]+ \} | %< [\w.]+ > [\-+\#0-9.]* [a-zA-Z]
      | % (?: \d+\$ | \[\d+\] )? (?: [\-+\#0']+ | [ ](?=\d) )? (?: \d+ | \* (?:\d+\$)? )?
        (?: \. (?: \d+ | \* (?:\d+\$)? )? )?
        (?: (?: hh? | ll? | I64 | I32 | [Lqjzt] )? [diouxXeEfFgGaAcCsSpn@] (?<! (?<=[\d])%[a-zA-Z] (?=\p{L}) )
          | [A-Za-z] (?![\p{L}\d]) )
      | %L? [1-9]\d? (?![\d%])""",
    # {}, {0}, {name!r:>5}, { $name }, {count, number}
    "brace": r"\{ \s* \$? [\w.\-\[\]]* (?: \s*,\s* \w+ (?: \s*,\s* [^{}]* )? )? (?: ![rsa] )? (?: : [^{}\s]* )? \s* \}",
    "path": r"""
        (?<![\w/.<\\]) (?: ~ | \.\.? )? (?: / [\w.@+\-%{}$*]+ )+ /? (?<=[\w/}*]) (?<! / [A-Z] ) (?<! \d\ ?/\w+ )
      | (?<![\w/.\\]) ~ /
      | (?<![\w/.\\-]) [\w.@+\-]{1,60} (?: / [\w.@+\-]{1,60} ){0,12} / [\w@+\-.]{0,60}
        \. (?: _EXTENSIONS ) \b
      | (?<![\w/]) (?:application|audio|font|image|message|model|multipart|text|video)
        / (?! (?:application|audio|font|image|message|model|multipart|text|video|graphics|sound|picture|sms|data)s? \b )
        [a-z0-9][\w.+\-]* [\w] (?= \W | $ )
      | (?<![\w\\]) [A-Za-z]: (?: \\{1,2} [\w.$%\-]+ (?: [ ] (?=[\w.\-]+\\) [\w.$%\-]+ )* )+ \\{0,2}
      | (?<![\w\\]) \\\\ [\w.\-]+ (?: \\ [\w.$\-]+ )+
      | (?<![\w\\]) [A-Za-z]:\\{1,2} (?=\W|$)""",
    "header": r"(?<![\w-]) (?: _HEADERS ) : (?=\s|$)",
    "option": r"""
        (?<![\w\-./]) -- [A-Za-z][\w\-]* (?: \[=\w+\] | = [\w<>.,:/%{}|$\-]* [\w>}] )?
      | (?<![\w\-./)]) (?<= ^ | [\s("'“‘„«\[|,=`<] ) - [A-Za-z] (?: [\w+]* (?: = [\w.,:/]+ | -[\w\-]+ )? )?+ (?!\w)""",
    "version": r"""
        (?<![\w.]) v? \d+ (?: \. \d+ ){2,} (?: [-+~] [\w.+~\-]* \w | (?:rc|beta|alpha|dev|[a-z])\d* )? (?![\w])
      | (?<![\w.]) v \d+ (?: \.\d+ )* (?: [-+~] [\w.+~\-]* \w )? (?!\w)
      | (?<= \b [Vv]ersions?\ | \b [Rr]elease\ | \b [Vv]er\.\ ) \d+\.\d+ (?: [-+~]? \w[\w.+~\-]*\w )? (?![\w])""",
    # keys pressed together
    "keys": r"""
        \b (?: Ctrl | Control | Alt | AltGr | Shift | Cmd | Command | Meta | Super | Win | Option | Fn )
        (?: [+] (?: F?\d{1,2} | [A-Z][A-Za-z]* | [^\s\w] ) )+""",
    # user_id, ERROR_NOT_FOUND, config.yml, fooBar, os.path, main(), 0x1F, @user, UUIDs
    "identifier": r"""
        (?<![\w@]) (?=\w{0,80}[A-Za-z]) (?=\w{0,80}[A-Za-z0-9]_+[A-Za-z0-9]) \w++ (?: \. \w+ ){0,9} (?: \(\) )? (?!\w)
      | (?<![\w.]) [\w\-]{0,60} [\w*] (?: \. [\w\-]{1,60} ){0,6} \. (?: _EXTENSIONS ) (?! [\w-] | \.\w )
      | (?<![\w.]) \. [a-z][\w\-]+ (?: \. \w+ )* (?!\w)
      | (?<![\w.]) [a-z][a-z0-9]+ (?: \. [a-z][a-z0-9]+ ){1,9} (?: \(\) )? (?![\w.]{0,9}\w)
      | (?<![\w.]) [A-Za-z]\w{0,60} (?: (?: \. | :: | -> ) \w{1,60} ){0,9} \(\)
      | (?<![\w.]) [A-Za-z]\w+ (?: :: \w+ )+
      | (?<![\w.'’-]) [a-z]{1,40}+ [A-Z] \w*+ (?!['’])
      | (?<![\w.]) (?: [A-Z][a-z0-9]{1,40} ){1,9} (?: Exception | Error ) \b
      | \b 0x [0-9A-Fa-f]+ \b
      | \b [0-9a-fA-F]{8} (?: - [0-9a-fA-F]{4} ){3} - [0-9a-fA-F]{12} \b
      | (?<![\w.]) @ [A-Za-z_][\w\-]+""",
    "emoji": r"""
        [0-9\#*] \uFE0F? \u20E3 | \p{Regional_Indicator}{2}
      | \p{Extended_Pictographic} [\p{EMod}\uFE0E\uFE0F\u20E3\U000E0020-\U000E007F]*
        (?: \u200D \p{Extended_Pictographic} [\p{EMod}\uFE0F\U000E0020-\U000E007F]* )*
      | [\u2190-\u21FF]""",
    "escape": r"""
        \\ (?: [abefnrtv0"'\\?] | u[0-9a-fA-F]{4} | U[0-9a-fA-F]{8} | x[0-9a-fA-F]{2} | u\{[0-9a-fA-F]+\} )""",
}
_LISTS = {"_EXTENSIONS": _EXTENSIONS, "_DOMAINS": _DOMAINS, "_HEADERS": _HEADERS}


def _join(patterns: dict[Kind, str]) -> str:
    """All patterns in one, each a group with its kind's name, the lists put in."""
    joined = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in patterns.items())
    for name, alternatives in _LISTS.items():
        joined = joined.replace(name, alternatives)
    return joined


_ANY = regex.compile(_join(_PATTERNS), regex.VERBOSE | regex.V1)
