"""The table [plugins.policy-rules], with the examples of its rules checked."""

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from nanocoder_policy_rules.rule_tables import RuleTable
from nanocoder_policy_rules.settings import TABLES, UncheckedSettings, check_tables

if TYPE_CHECKING:
    from attrs import Attribute


def _check(settings: object, attribute: "Attribute[Any]", tables: tuple[RuleTable, ...]) -> None:
    check_tables(settings, attribute, tables)
    for at, table in enumerate(tables):
        if table.has_examples:
            from nanocoder_policy_rules import rule_examples  # brings all that judges along

            try:
                rule_examples.check(table.rule(), table.match, table.not_match)
            except ValueError as error:
                raise ValueError(f"{attribute.name}[{at}]: {error}") from None


@frozen(eq=False, repr=False, slots=False)
class Settings(UncheckedSettings):  # noqa: D101
    __doc__ = UncheckedSettings.__doc__  # people read there what each setting is

    rules: tuple[RuleTable, ...] = field(default=(), validator=_check, metadata=TABLES)
