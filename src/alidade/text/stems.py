"""Whether two words are forms of one, judged by nothing but how they start."""

from __future__ import annotations

import functools
import math
import unicodedata

MIN_STEM = 3
STEM_SHARE = 0.6
"""Two words have a common stem if they share this much of the longer one, from its start."""


def have_common_stem(first: str, second: str) -> bool:
    """ "starker" and "stärkste" do, "Hund" and "Hunden", "disc" and "discul"."""
    first, second = bare_word(first), bare_word(second)
    num_shared = math.ceil(max(MIN_STEM, STEM_SHARE * max(len(first), len(second))))
    return first[:num_shared] == second[:num_shared]


@functools.lru_cache(maxsize=1 << 14)  # dictionaries ask for the same pieces again and again
def bare_word(word: str) -> str:
    """In lower case and without accents, so that "Männer" begins like "Mann"."""
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join([character for character in decomposed if not unicodedata.combining(character)])
