"""Alidade: neural machine translation in which every target word points at the source word it translates."""

from alidade.errors import AlidadeError

__all__ = ["AlidadeError", "__version__"]

__version__ = "0.1.0"
