"""How a program of this package is started that runs beside commands: with the standard library."""

import os
from types import ModuleType
from typing import Final

START: Final = (
    "import sys; package = type(sys)('nanocoder_kit_sandbox');"
    " package.__path__ = [sys.argv.pop(1)]; sys.modules[package.__name__] = package;"
    " from nanocoder_kit_sandbox import {0}; {0}.main()"
)
"""Imports the program {0} without the rest of this package."""


def program_of(python: str, module: ModuleType) -> list[str]:
    """Return the beginning of the argument vector by which *python* runs *module*, a program."""
    start = START.replace("{0}", module.__name__.rpartition(".")[2])
    return [python, "-I", "-S", "-c", start, os.path.dirname(__file__)]
