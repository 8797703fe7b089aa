"""The single rules in the settings of policies, and the calls that each matches alone."""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

import attrs
from attrs import frozen
from nanocoder import Mode, NanocoderError, SessionInfo, Tool, ToolCall, Verdict

from nanocoder_command_policy.judging import Judge
from nanocoder_command_policy.sample_arguments import sample_of

HOOK: Final = "nanocoder_before_execute"
MARKS: Final = frozenset({"tool_of", "place"})
"""Metadata keys of settings that contain rules."""
_TOOL: Final = re.compile(r"[\w*?.\[\]-]+")
_SHORT: Final = re.compile(r"\s*([\w.-]+)\((.+)\)", re.DOTALL)
_WILDCARD: Final = re.compile(r"\*+|\?")


@frozen(eq=False)
class ListedRule:
    """One rule: the policy that has it, the setting that it is in, and its text."""

    plugin: str
    setting: str
    item: Any
    text: str

    @property
    def key(self) -> str:
        """The configuration key of the list that contains the rule."""
        return f"plugins.{self.plugin}.{self.setting}"

    def names(self, tool: str) -> bool:
        """Return True if the rule names *tool*; every rule begins with the name of a tool."""
        start = _TOOL.match(self.text.strip())
        return start is not None and fnmatchcase(tool, start.group())


class RuleList:
    """The rules of all policies of one session."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._plugins = judge.plugins
        self.rules = tuple(self._list())

    def verdict_alone(self, rule: ListedRule, call: ToolCall) -> Verdict | None:
        """Return the verdict on *call* by *rule* alone, or None if it does not match."""
        info = self._judge.session.info
        for mode in getattr(rule.item, "modes", ()) or (info.mode,):
            as_if = attrs.evolve(info, mode=Mode(mode))
            alone = self._verdict(rule.plugin, call, {rule.setting: (rule.item,)}, as_if)
            without = self._verdict(rule.plugin, call, {}, as_if)
            if alone is not None and alone.rule and alone != without:
                return alone
        return None

    def _verdict(
        self, plugin: str, call: ToolCall, rules: dict[str, Any], session: SessionInfo
    ) -> Verdict | None:
        settings = self._plugins.settings(plugin)
        empty = dict.fromkeys(_rule_fields(settings), ())
        changed = attrs.evolve(settings, **{**empty, **rules})
        try:
            tool = self._plugins.tool(call.name).real()
            tool.signature.check(call.arguments)
        except NanocoderError:
            return None
        [policy] = [it for it in self._plugins.implementations(HOOK) if it.plugin == plugin]
        context: dict[str, Any] = {"call": call, "tool": tool, "session": session}
        context |= {"settings": lambda _: changed, "resource": lambda _: None}
        verdict: Verdict | None = policy(context)
        return verdict

    def _list(self) -> Iterator[ListedRule]:
        for policy in self._plugins.implementations(HOOK):
            settings = self._plugins.settings(policy.plugin)
            for name in _rule_fields(settings):
                for item in getattr(settings, name):
                    yield ListedRule(policy.plugin, name, item, _text_of(item))


def calls_of_rule(rule: ListedRule, tools: Mapping[str, Tool[..., Any]]) -> Iterator[ToolCall]:
    """Yield calls that a rule in short form may be about, made of its own pattern."""
    match = _SHORT.match(rule.text)
    tool = tools.get(match[1]) if match else None
    if match is None or tool is None:
        return
    fewest, text = sample_of(tool.parameters), _WILDCARD.sub("x", match[2].replace(":*", " *"))
    for name, schema in tool.parameters.get("properties", {}).items():
        if schema.get("type") == "string":
            yield ToolCall("of the rule", tool.name, {**fewest, name: text})


def _rule_fields(settings: Any) -> list[str]:
    if not attrs.has(type(settings)):
        return []
    marked = [field for field in attrs.fields(type(settings)) if MARKS & field.metadata.keys()]
    return [field.name for field in marked]


def _text_of(item: Any) -> str:
    """Return a rule in short form, whichever form it is written in."""
    return str(item) if isinstance(item, str) else str(item.text)
