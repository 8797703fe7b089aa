"""The console of a program: declared commands, safe output, text from a pipe, and signals."""

from nanocoder_schema import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)
