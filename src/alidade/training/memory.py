"""Keep the memory that one update frees for the next one."""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
LARGEST = 2**31 - 1


def keep_freed_memory() -> None:
    """Tell glibc's malloc not to give freed memory back to the system.

    Every update allocates the same large tensors anew. By default malloc returns them to the system when they are
    freed, which then has to find and clear every page again: some 4 % of a small model's time on a CPU.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # another C library than glibc may lack it
        mallopt(M_MMAP_THRESHOLD, LARGEST)
        mallopt(M_TRIM_THRESHOLD, LARGEST)
