"""The table [plugins.policy-shell]."""

from typing import Literal

from attrs import field, frozen

# Every start imports this module: what reads commands is imported at the first one.

Kind = Literal[
    "ansi-c-string",
    "arithmetic",
    "assignment",
    "background",
    "braces",
    "case",
    "command-substitution",
    "comment",
    "computed-program",
    "condition",
    "decoded-code",
    "downloaded-code",
    "escape",
    "eval",
    "function",
    "group",
    "here-document",
    "here-string",
    "hidden-characters",
    "home",
    "loop",
    "negation",
    "network-file",
    "newline",
    "not-ascii",
    "process-substitution",
    "quoted-program",
    "redirection",
    "redirection-to-variable",
    "sign",
    "subshell",
    "syntax",
    "test",
    "variable",
    "wildcard",
    "wrapper",
]
"""The names of the kinds of parts."""


@frozen
class Settings:
    """The table [plugins.policy-shell]. A project's file may add to *deny*.

    *deny*: kinds of parts that no command may have, in any mode. *explain*: whether questions say
    which parts of a command cannot be checked, and why.
    """

    deny: tuple[Kind, ...] = field(
        default=("decoded-code", "downloaded-code", "hidden-characters", "network-file"),
        metadata={"tighten": "union"},
    )
    explain: bool = True
