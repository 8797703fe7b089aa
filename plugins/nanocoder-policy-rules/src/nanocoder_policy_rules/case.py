"""One call with everything that the steps of judging ask about it."""

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from nanocoder import Effect, SessionInfo, Tool, ToolCall, named_paths

from nanocoder_policy_rules import expansion, paths, programs, rules, shell
from nanocoder_policy_rules.commands import are_safe
from nanocoder_policy_rules.reach import Reach
from nanocoder_policy_rules.removal import Removal
from nanocoder_policy_rules.rules import SHELL, Rule
from nanocoder_policy_rules.search import Text
from nanocoder_policy_rules.settings import Settings

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

ANY_TOOL: Final = "*"


class Case:
    """One call with everything that is asked of it, each worked out once and only when needed."""

    def __init__(
        self, call: ToolCall, tool: Tool[..., Any], session: SessionInfo, settings: Settings
    ) -> None:
        self.call = call
        self.session = session
        self.tool = tool
        self.mode = session.mode
        self.agent = session.agent
        self.settings = settings

    def fitting(self, texts: Sequence[str]) -> list[Rule]:
        """Return those of the rules that are about the tool and the agent."""
        found = map(rules.rule, texts)
        return [one for one in found if one.names(self.call.name) and one.is_for(self.agent)]

    def forbidding(self, texts: Sequence[str]) -> list[Rule]:
        """Return the same, and rules for commands of the shell where another tool runs one."""
        if not self.started or self.command:
            return self.fitting(texts)
        found = map(rules.rule, texts)
        return [
            one
            for one in found
            if one.is_for(self.agent)
            and (one.names(self.call.name) or (one.pattern and one.names(SHELL)))
        ]

    @cached_property
    def command(self) -> str:
        """The command when this is a call of the shell, else ""."""
        return self.started if self.call.name == SHELL else ""

    @cached_property
    def started(self) -> str:
        """The command that the call would run, whichever tool runs it, one of its steps too."""
        effects = self.tool.effects
        is_run = self.call.name == SHELL or not effects or Effect.EXECUTE in effects
        names = dict.fromkeys((*(["command"] if is_run else []), *self.tool.commands))
        values = (self.call.arguments.get(name) for name in names)
        return "\n".join(value for value in values if value and isinstance(value, str))

    @cached_property
    def simples(self) -> list[shell.Simple] | None:
        """The recognised commands; None when any part of the text is unknown."""
        return shell.commands(self.command)

    @cached_property
    def text(self) -> Text:
        """The command, taken apart, to look for what is denied."""
        return Text(self.started, self.simples if self.command else None)

    @cached_property
    def words(self) -> list[str]:
        """All words that the command could be hiding, and the names that a shell makes of some."""
        words = list(self.text.words)
        if self.simples is not None and self.command:
            return words  # its wildcards are in quotes
        return words + expansion.expanded(words, self.reach.folder, self.text.directories)

    @cached_property
    def removal(self) -> Removal:
        """What the command removes."""
        root = str(self.session.cwd)
        return Removal(root, os.path.join(root, self.directory))

    @cached_property
    def is_safe(self) -> bool:
        """Tell whether the command is recognised and only reads."""
        simples = self.simples or ()
        return bool(simples) and are_safe(simples, self.reach) and not self.own_program

    @cached_property
    def own_program(self) -> str:
        """The program in the workspace that stands for one of the command's, or nothing."""
        path = os.environ.get("PATH", "")
        found = (programs.in_workspace(one.words, self.session, path) for one in self.simples or ())
        return next(filter(None, found), "")

    @cached_property
    def paths(self) -> "list[ResolvedPath]":
        """The paths among the arguments, resolved as the workspace opens them."""
        if ANY_TOOL in self.tool.composed_of:
            return []  # those of its calls, each of which is judged by itself
        return [self.session.resolve(path) for path in named_paths(self.call.arguments)]

    @cached_property
    def directory(self) -> str:
        """Where a command runs, as written."""
        return str(self.call.arguments.get("workdir", "."))

    @cached_property
    def reach(self) -> Reach:
        """What the command may read."""
        return Reach(self.session, self.settings, self.directory)

    @cached_property
    def missing(self) -> str:
        """The one path that the call names to read it, when nothing is there; or ""."""
        only = paths.only_path(self.call.arguments) if self.tool.is_read_only else ""
        return only if only and not self.session.resolve(only).exists else ""

    def secret_in(self, written: Iterable[str]) -> str:
        """Return the name in some paths that is secret, or ""."""
        return paths.secret(written, self.settings.all_secrets, self.settings.not_secrets)
