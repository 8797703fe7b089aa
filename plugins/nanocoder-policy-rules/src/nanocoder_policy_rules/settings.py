"""The table [plugins.policy-rules]."""

from functools import cached_property

from attrs import field, frozen

from nanocoder_policy_rules.paths import NOT_SECRETS, SECRETS
from nanocoder_policy_rules.rules import allow_rule, rule, tool_of


def _all_rules(_: object, __: object, texts: tuple[str, ...]) -> None:
    for text in texts:
        rule(text)


def _all_allow_rules(_: object, __: object, texts: tuple[str, ...]) -> None:
    for text in texts:
        allow_rule(text)


_RULES = {"tighten": "union", "tool_of": tool_of}


@frozen(eq=False, repr=False)
class Settings:
    """The table [plugins.policy-rules]. A project's file may add to *deny*, *ask* and *secrets*.

    *deny*, *ask*, *allow*: rules; the strictest that fits a call decides. *secrets*: names of files
    and folders that no tool may touch, beside the usual ones and except *not_secrets*; with
    *replace_secrets* they are all that count. *blocklist*: whether commands that
    remove the system or a home, overwrite a disk or switch the machine off are denied.
    *ask_in_steps*: whether the rules of *ask* are heard about the steps of a composed call that a
    person has agreed to as a whole.
    """

    deny: tuple[str, ...] = field(default=(), validator=_all_rules, metadata=_RULES)
    ask: tuple[str, ...] = field(default=(), validator=_all_rules, metadata=_RULES)
    allow: tuple[str, ...] = field(
        default=(), validator=_all_allow_rules, metadata={"tool_of": tool_of}
    )
    replace_secrets: bool = field(default=False, metadata={"user_only": True})
    secrets: tuple[str, ...] = field(default=SECRETS, metadata={"tighten": "union"})
    not_secrets: tuple[str, ...] = NOT_SECRETS
    blocklist: bool = field(default=True, metadata={"tighten": "true"})
    ask_in_steps: bool = field(default=False, metadata={"tighten": "true"})

    @cached_property
    def all_secrets(self) -> tuple[str, ...]:
        """The names that count: *secrets*, and the usual ones unless they are replaced."""
        usual = () if self.replace_secrets else SECRETS
        return tuple(dict.fromkeys((*usual, *self.secrets)))
