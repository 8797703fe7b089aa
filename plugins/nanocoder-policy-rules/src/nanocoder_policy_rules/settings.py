"""The table [plugins.policy-rules]."""

from functools import cached_property
from typing import Final

from attrs import field, frozen

SECRETS: Final = (
    *(".env", ".env.*", ".envrc.local", "*.pem", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".npmrc", ".pypirc"),
    *(".pgpass", ".htpasswd", ".git-credentials", "credentials.json", "service-account*.json"),
    *(".ssh", ".aws", ".gnupg", ".kube"),
)
NOT_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")

# The rules bring 15 modules along, and a start without a rule of its own needs none of them.


def _all_rules(_: object, __: object, texts: tuple[str, ...]) -> None:
    if texts:
        from nanocoder_policy_rules.rules import rule

        for text in texts:
            rule(text)


def _all_allow_rules(_: object, __: object, texts: tuple[str, ...]) -> None:
    if texts:
        from nanocoder_policy_rules.rules import allow_rule

        for text in texts:
            allow_rule(text)


def _tool_of(text: str) -> str:
    from nanocoder_policy_rules.rules import tool_of

    return tool_of(text)


_RULES = {"tighten": "union", "tool_of": _tool_of}


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
        default=(), validator=_all_allow_rules, metadata={"tool_of": _tool_of}
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
