"""The long form of a rule: one table `[[plugins.policy-rules.rules]]` of the configuration.

This module is imported at every start; what reads rules is imported where there are some.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, Self

from attrs import evolve, field
from nanocoder_schema import value

RuleVerdict = Literal["deny", "ask", "allow"]
Remark = tuple[object, str, bool]
"""The origin of a rule that has no effect, the reason, and True if it is a slip."""
ModeName = Literal["plan", "ask", "edits", "auto"]
_ANY: Final = "*"
_SUBJECTS: Final = ("effect", "risk", "plugin")


@value
class RuleTable:
    """A rule with conditions, as it is written.

    It is about the calls of a *tool*, those with an *effect*, of a *risk* or from a *plugin*; names
    may have wildcards. A *pattern* is as in the short form. *mode*, *agent*, *interactive* and
    *folder* say when it holds, *expires* until when. The model reads the *reason*. *origin* returns
    where it is written, "" where that is unknown.
    """

    verdict: RuleVerdict
    tool: str = ""
    effect: Literal["", "read", "write", "execute", "network"] = ""
    risk: Literal["", "safe", "medium", "dangerous", "destructive"] = ""
    plugin: str = ""
    pattern: str = ""
    mode: ModeName | tuple[ModeName, ...] = ()
    agent: str = ""
    interactive: bool | None = None
    folder: str = ""
    reason: str = ""
    expires: Any = None
    origin: Callable[[], object] = field(default=str, init=False, eq=False, repr=False)

    def __str__(self) -> str:
        """Return the verdict and the rule, on one line."""
        return f"{self.verdict}: {self.text}"

    def at(self, origin: Callable[[], object]) -> Self:
        """Return this table, written at *origin*."""
        placed = evolve(self)
        object.__setattr__(placed, "origin", origin)
        return placed

    @property
    def text(self) -> str:
        """Return the rule in a short form: what it is about, and when."""
        subjects = [f"{name} {getattr(self, name)}" for name in _SUBJECTS if getattr(self, name)]
        text = " ".join(filter(None, [self.tool, *subjects])) or _ANY
        if self.pattern:
            text += f"({self.pattern})"
        return " ".join([text, *self._conditions()])

    @property
    def layer(self) -> str:
        """The layer of the configuration that it belongs to, "" where that is unknown."""
        return getattr(self.origin(), "layer", "")

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes in which it holds, none for all of them."""
        return (self.mode,) if isinstance(self.mode, str) else self.mode

    def _conditions(self) -> list[str]:
        conditions = [f"@{self.agent}"] if self.agent else []
        conditions += [f"in mode {' or '.join(self.modes)}"] if self.modes else []
        if self.interactive is not None:
            conditions.append("with a person" if self.interactive else "without a person")
        return conditions + ([f"in {self.folder}"] if self.folder else [])
