"""The ids that every vocabulary shares."""

from typing import Final

PAD: Final = 0
BOS: Final = 1
EOS: Final = 2
UNK: Final = 3
NUM_SPECIAL: Final = 4
"""These are the first ones; no translation has them."""
