"""The table [plugins.policy-rules]."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from attrs import Attribute, field, frozen
from nanocoder_kit_files.glob import problem_of_glob
from nanocoder_kit_files.redact import Redactor

from nanocoder_policy_rules.rule_tables import Remark, RuleTable, RuleVerdict

if TYPE_CHECKING:
    from nanocoder_policy_rules.rules import Rule

_ONLY_USER: Final = {"user_only": True}
SECRETS: Final = (
    *(".env", ".env.*", ".envrc.local", "*.pem", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".npmrc", ".pypirc"),
    *(".pgpass", ".htpasswd", ".git-credentials", "credentials.json", "service-account*.json"),
    *(".ssh", ".aws", ".gnupg", ".kube"),
)
NOT_SECRETS: Final = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")


# The rules bring 15 modules along, and a start without a rule of its own needs none of them.


def _checked(check: Callable[[Any, str], None], default: Any = (), **metadata: Any) -> Any:
    """Return a field of items that are checked, but for the *default* ones."""

    def validate(_: object, attribute: "Attribute[Any]", items: tuple[Any, ...]) -> None:
        for at, item in enumerate(() if items is attribute.default else items):
            try:
                check(item, attribute.name)
            except ValueError as error:
                raise ValueError(f"{attribute.name}[{at}]: {error}") from None

    return field(default=default, validator=validate, metadata=metadata)


def _check_rule(item: str | RuleTable, verdict: str) -> None:
    from nanocoder_policy_rules.rules import rule, rule_of

    rule(item, cast("RuleVerdict", verdict)) if isinstance(item, str) else rule_of(item)


def _check_name(text: str, _: str) -> None:
    problem = problem_of_glob(text)
    if "/" in text:
        problem = "names have no '/'; a rule such as deny = [\"*(a/b.json)\"] is about paths"
    if problem:
        raise ValueError(f"{text!r} can match no name: {problem}")


def _check_line(text: str, _: str) -> None:
    from nanocoder_kit_files.glob.ignore_file import read_rules

    for _line, problem in read_rules(text.encode(), braces=True).malformed:
        raise ValueError(f"it can match nothing: {problem}")


class PlacedText(str):
    """A rule in short form that knows where it is written."""

    __slots__ = ("origin",)
    origin: Callable[[], object]


def _place_text(text: str, origin: Callable[[], object]) -> PlacedText:
    placed = PlacedText(text)
    placed.origin = origin
    return placed


@frozen(eq=False, repr=False, slots=False)
class Settings:
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

    deny: tuple[str, ...] = _checked(_check_rule, tighten="union", place=_place_text)
    ask: tuple[str, ...] = _checked(_check_rule, tighten="union", place=_place_text)
    allow: tuple[str, ...] = _checked(_check_rule, place=_place_text)
    rules: tuple[RuleTable, ...] = _checked(_check_rule, tighten="union", place=RuleTable.at)
    only_managed_allow: bool = field(default=False, metadata={"tighten": "true"})
    replace_secrets: bool = field(default=False, metadata=_ONLY_USER)
    secrets: tuple[str, ...] = _checked(_check_name, SECRETS, tighten="union")
    not_secrets: tuple[str, ...] = _checked(_check_name, NOT_SECRETS)
    blocklist: bool = field(default=True, metadata={"tighten": "true"})
    ask_in_steps: bool = field(default=False, metadata={"tighten": "true"})
    ignore: tuple[str, ...] = _checked(_check_line, tighten="union")
    not_ignored: tuple[str, ...] = _checked(_check_line, user_only=True)
    redact_results: bool = field(default=True, metadata=_ONLY_USER)
    refuse_placeholders: bool = field(default=True, metadata=_ONLY_USER)
    redactor: Redactor = field(factory=Redactor, init=False)
    sandboxed: Literal["ask", "allow"] = field(default="allow", metadata=_ONLY_USER)

    @cached_property
    def secret_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of secrets that count, and their exceptions: also the usual ones."""
        usual, usual_not = ((), ()) if self.replace_secrets else (SECRETS, NOT_SECRETS)
        own, own_not = dict.fromkeys((*usual, *self.secrets)), (*usual_not, *self.not_secrets)
        return tuple(own), tuple(dict.fromkeys(own_not))

    def rules_that(self, verdict: "RuleVerdict") -> "tuple[Rule, ...]":
        """Return the rules with *verdict* that count, of both forms."""
        return self._counted[verdict]

    @cached_property
    def _counted(self) -> "Mapping[RuleVerdict, tuple[Rule, ...]]":
        if not (self.deny or self.ask or self.allow or self.rules):
            return {"deny": (), "ask": (), "allow": ()}
        from nanocoder_policy_rules.rules import rules_of

        # A project's texts are here only when its folder is trusted; its tables never count.
        tables = [each for each in self.rules if each.verdict != "allow" or each.layer != "project"]
        allowing = rules_of("allow", self.allow, tables)
        if self.only_managed_allow:
            allowing = tuple(each for each in allowing if each.table.layer == "managed")
        denying, asking = (rules_of("deny", self.deny, tables), rules_of("ask", self.ask, tables))
        return {"deny": denying, "ask": asking, "allow": allowing}

    def remarks(self, tools: Collection[str], plugins: Collection[str]) -> Iterator[Remark]:
        """Yield the rules that have no effect: where each is, why, and whether it is a slip."""
        if not (self.deny or self.ask or self.allow or self.rules):
            return
        from nanocoder_policy_rules.rules import remarks_on, rules_of

        counted = {rule.text for rule in self.rules_that("allow")}
        for rule in rules_of("allow", self.allow, self.rules):
            if rule.text not in counted:
                line = f"the rule {rule.text!r} does not count: this file may not allow anything"
                yield rule.table.origin(), line, False
        for verdict in ("deny", "ask", "allow"):
            for rule in {rule.text: rule for rule in self.rules_that(verdict)}.values():
                yield from remarks_on(rule, tools, plugins)
