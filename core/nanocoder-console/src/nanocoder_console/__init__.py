"""The console of a program: declared commands, safe output, text from a pipe, and signals."""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
