"""The table [plugins.policy-rules]."""

from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from attrs import Attribute, field, frozen
from nanocoder_kit_redact import Redactor

from nanocoder_policy_rules.rule_tables import RuleTable

if TYPE_CHECKING:
    from nanocoder_policy_rules.rulebook import RuleBook

_ONLY_USER: Final = {"user_only": True}
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


def check_tables(_: object, attribute: "Attribute[Any]", tables: tuple[RuleTable, ...]) -> None:
    """Raise ValueError, with its index, for a table that says nothing that could hold."""
    for at, table in enumerate(tables):
        try:
            table.check()
        except ValueError as error:
            raise ValueError(f"{attribute.name}[{at}]: {error}") from None


class PlacedText(str):
    """A rule in short form that knows where it is written."""

    __slots__ = ("origin",)
    origin: Callable[[], object]


def _place_text(text: str, origin: Callable[[], object]) -> PlacedText:
    placed = PlacedText(text)
    placed.origin = origin
    return placed


TABLES: Final = {"tighten": "union", "place": RuleTable.at}
_RULES: Final = {"tighten": "union", "place": _place_text}


@frozen(eq=False, repr=False, slots=False)
class UncheckedSettings:
    """The table [plugins.policy-rules]. A project's file may add to *deny*, *ask* and *secrets*.

    *deny*, *ask*, *allow*: rules in short form; the strictest that fits a call decides. *rules*:
    rules with conditions; those of a project that allow do not count. *secrets*: names of files
    and folders that no tool may touch, beside the usual ones and except *not_secrets*; with
    *replace_secrets* these two are all that count. *blocklist*: whether commands that
    remove the system or a home, overwrite a disk or switch the machine off are denied.
    *ask_in_steps*: whether the rules of *ask* are heard about the steps of a composed call that a
    person has agreed to as a whole. *only_managed_allow*: whether only what an administrator
    allows counts. *sandboxed*: "allow" lets commands run unasked as long as a sandbox holds them;
    "ask" asks about them as without a sandbox. *ignore*: patterns that count as if they were in a
    `.nanocoderignore` of every workspace, and *not_ignored* those of files that may be read all the
    same. *redact_results*: whether the model reads placeholders in the place of secrets.
    *refuse_placeholders*: whether a call that would write or run a placeholder is denied.
    *redactor* is no setting: it knows the secrets of the environment.
    """

    deny: tuple[str, ...] = field(default=(), validator=_all_rules, metadata=_RULES)
    ask: tuple[str, ...] = field(default=(), validator=_all_rules, metadata=_RULES)
    allow: tuple[str, ...] = field(
        default=(), validator=_all_allow_rules, metadata={"place": _place_text}
    )
    rules: tuple[RuleTable, ...] = field(
        default=(),
        validator=check_tables,
        metadata=TABLES,
    )
    only_managed_allow: bool = field(default=False, metadata={"tighten": "true"})
    replace_secrets: bool = field(default=False, metadata=_ONLY_USER)
    secrets: tuple[str, ...] = field(default=SECRETS, metadata={"tighten": "union"})
    not_secrets: tuple[str, ...] = NOT_SECRETS
    blocklist: bool = field(default=True, metadata={"tighten": "true"})
    ask_in_steps: bool = field(default=False, metadata={"tighten": "true"})
    ignore: tuple[str, ...] = field(default=(), metadata={"tighten": "union"})
    not_ignored: tuple[str, ...] = field(default=(), metadata=_ONLY_USER)
    redact_results: bool = field(default=True, metadata=_ONLY_USER)
    refuse_placeholders: bool = field(default=True, metadata=_ONLY_USER)
    redactor: Redactor = field(factory=Redactor, init=False)
    sandboxed: Literal["ask", "allow"] = field(default="allow", metadata=_ONLY_USER)

    @cached_property
    def all_secrets(self) -> tuple[str, ...]:
        """The names that count: *secrets*, and the usual ones unless they are replaced."""
        usual = () if self.replace_secrets else SECRETS
        return tuple(dict.fromkeys((*usual, *self.secrets)))

    @cached_property
    def all_not_secrets(self) -> tuple[str, ...]:
        """The exceptions that count: *not_secrets*, and the usual ones unless they are replaced."""
        usual = () if self.replace_secrets else NOT_SECRETS
        return tuple(dict.fromkeys((*usual, *self.not_secrets)))

    @cached_property
    def denying(self) -> "RuleBook":
        """The rules that deny, of both forms."""
        from nanocoder_policy_rules.rulebook import forbidding_book

        return forbidding_book(self.deny, self._tables("deny"))

    @cached_property
    def asking(self) -> "RuleBook":
        """The rules that ask, of both forms."""
        from nanocoder_policy_rules.rulebook import forbidding_book

        return forbidding_book(self.ask, self._tables("ask"))

    @cached_property
    def allowing(self) -> "RuleBook":
        """The rules that allow, of both forms."""
        from nanocoder_policy_rules.rulebook import allowing_book

        tables = self._tables("allow")
        return allowing_book(self.allow, tables, only_managed=self.only_managed_allow)

    def remarks(
        self, tools: Collection[str], plugins: Collection[str]
    ) -> "Iterator[tuple[object, str, bool]]":
        """Yield the rules that have no effect: where each is, why, and whether it is a slip."""
        if self.deny or self.ask or self.allow or self.rules:
            from nanocoder_policy_rules.idle_rules import remarks, uncounted
            from nanocoder_policy_rules.rulebook import book_of

            every = book_of(self.allow, self._tables("allow"))
            yield from uncounted(every.rules, self.allowing.rules)
            for book in (self.denying, self.asking, self.allowing):
                yield from remarks(book.rules, tools, plugins)

    def _tables(self, verdict: str) -> list[RuleTable]:
        return [table for table in self.rules if table.verdict == verdict]
