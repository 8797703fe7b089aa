"""The long form of a rule: one table `[[plugins.policy-rules.rules]]` of the configuration."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from attrs import evolve, field
from nanocoder_schema import value

if TYPE_CHECKING:
    from nanocoder_policy_rules.rules import Rule

# This module is imported at every start; what reads rules is imported where there are some.

Example = str | dict[str, Any]
ModeName = Literal["plan", "ask", "edits", "auto"]
_ANY: Final = "*"
_SUBJECTS: Final = ("tool", "effect", "risk", "plugin")


@value
class RuleTable:
    """A rule with conditions, as it is written.

    It is about the calls of a *tool*, those with an *effect*, of a *risk* or from a *plugin*; names
    may have wildcards. A *pattern* is as in the short form, *arguments* are patterns by the names
    of arguments, which all have to fit. *mode*, *agent*, *interactive* and *folder* say when it
    holds, *expires* until when. The model reads the *reason*. *match* and *not_match* are calls
    that the rule has to fit, or not to fit: a main argument, or a table of arguments.
    """

    verdict: Literal["deny", "ask", "allow"]
    tool: str = ""
    effect: Literal["", "read", "write", "execute", "network"] = ""
    risk: Literal["", "safe", "medium", "dangerous", "destructive"] = ""
    plugin: str = ""
    pattern: str = ""
    arguments: dict[str, str] = field(factory=dict)
    mode: ModeName | tuple[ModeName, ...] = ()
    agent: str = ""
    interactive: bool | None = None
    folder: str = ""
    reason: str = ""
    expires: Any = None
    match: tuple[Example, ...] = ()
    not_match: tuple[Example, ...] = ()
    origin: Callable[[], object] | None = field(default=None, init=False, eq=False, repr=False)

    def __str__(self) -> str:
        """Return the verdict and the rule, on one line."""
        return f"{self.verdict}: {self._text()}"

    def at(self, origin: Callable[[], object]) -> Self:
        """Return this table, written at *origin*."""
        placed = evolve(self)
        object.__setattr__(placed, "origin", origin)
        return placed

    @property
    def has_examples(self) -> bool:
        """Tell whether there is a call that the rule has to fit, or not to fit."""
        return bool(self.match or self.not_match)

    def rule(self) -> "Rule":
        """Return what the table says; raises ValueError, naming a pattern that is none."""
        from nanocoder_policy_rules.rules import rule

        pattern, arguments = self.pattern, self.arguments
        if [*arguments] == ["command"]:
            pattern, arguments = arguments["command"], {}
        tool = self.tool or _ANY
        parsed = rule(f"{tool}({pattern})" if pattern else tool)
        names = {name: getattr(self, name) for name in _SUBJECTS[1:]}
        return evolve(
            parsed,
            text=self._text(),
            agent=self.agent,
            allows=self.verdict == "allow",
            arguments=arguments,
            modes=(self.mode,) if isinstance(self.mode, str) else self.mode,
            interactive=self.interactive,
            folder=self.folder,
            reason=self.reason,
            expires=self.expires,
            origin=self.origin or parsed.origin,
            **names,
        )

    def check(self) -> None:
        """Raise ValueError when the rule can never fit."""
        if not any(getattr(self, name) for name in _SUBJECTS):
            raise ValueError('a rule needs what it is about: tool, effect, risk or plugin ("*")')
        if self.pattern and self.arguments:
            raise ValueError("a rule has either a pattern or arguments")
        if self.verdict == "allow" and "command" in self.arguments and len(self.arguments) > 1:
            raise ValueError("a rule that allows a command names the command alone")
        if self.expires is not None:
            _check_date(self.expires)
        rule = self.rule()
        if self.verdict == "allow":
            from nanocoder_policy_rules.rules import check_allowing

            check_allowing(rule)

    def _text(self) -> str:
        """Return the rule in a short form: what it is about, and when."""
        subjects = [
            f"{name} {getattr(self, name)}" for name in _SUBJECTS[1:] if getattr(self, name)
        ]
        text = " ".join(filter(None, [self.tool, *subjects])) or _ANY
        named = ", ".join(f"{name}={pattern}" for name, pattern in self.arguments.items())
        if self.pattern or named:
            text += f"({self.pattern or named})"
        return " ".join([text, *self._conditions()])

    def _conditions(self) -> list[str]:
        modes = (self.mode,) if isinstance(self.mode, str) else self.mode
        conditions = [f"@{self.agent}"] if self.agent else []
        conditions += [f"in mode {' or '.join(modes)}"] if modes else []
        if self.interactive is not None:
            conditions.append("with a person" if self.interactive else "without a person")
        return conditions + ([f"in {self.folder}"] if self.folder else [])


def _check_date(value: object) -> None:
    from datetime import date  # most rules last

    if not isinstance(value, date):
        raise ValueError(f"expires: expected a date such as 2030-12-31, got {value!r}")  # noqa: TRY004 - a wrong value of a setting
