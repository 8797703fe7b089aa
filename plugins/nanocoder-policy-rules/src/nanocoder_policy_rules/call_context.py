"""One call with everything that the steps of judging ask about it."""

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve
from nanocoder import Access, Effect, Mode, SessionInfo, Tool, ToolCall, ToolError, named_paths

from nanocoder_policy_rules import paths
from nanocoder_policy_rules.rules import SHELL
from nanocoder_policy_rules.settings import Settings
from nanocoder_policy_rules.shell_text import Script, parse
from nanocoder_policy_rules.shell_words import expand
from nanocoder_policy_rules.starts import starts_of

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

    from nanocoder_policy_rules.starts import Starts

ANY_TOOL: Final = "*"
HERE: Final = "."
REACHES_OUT: Final = frozenset((Effect.EXECUTE, Effect.NETWORK))


class CallContext:
    """One call and facts about it, each computed once and only when needed."""

    def __init__(
        self, call: ToolCall, tool: Tool[..., Any], session: SessionInfo, settings: Settings
    ) -> None:
        self.call = call
        self.session = session
        self.tool = tool
        # A mode is for calls of the model; no person is asked about one that a person typed.
        self.mode = Mode.ASK if call.typed else session.mode
        self.settings = settings
        self._resolved: dict[str, ResolvedPath] = {}

    def in_directory(self, path: str) -> "CallContext":
        """Return the same call as it runs in another directory of the workspace."""
        call = evolve(self.call, arguments={**self.call.arguments, "workdir": path})
        return CallContext(call, self.tool, self.session, self.settings)

    @cached_property
    def command(self) -> str:
        """Return the command when this is a call of the shell, else ""."""
        return self.started if self.call.name == SHELL else ""

    @cached_property
    def started(self) -> str:
        """Return the command that the call would run, whichever tool runs it."""
        effects, arguments = self.tool.effects, self.call.arguments
        is_run = self.call.name == SHELL or not effects or Effect.EXECUTE in effects
        names = dict.fromkeys((*(["command"] if is_run else []), *self.tool.commands))
        values = map(arguments.get, names)
        return "\n".join([value for value in values if value and isinstance(value, str)])

    @cached_property
    def script(self) -> Script:
        """Return the command, parsed."""
        return parse(self.started)

    @cached_property
    def operands(self) -> "list[ResolvedPath]":
        """Return the paths that words of the command name, where no sandbox hides them."""
        if self.is_held:
            return []
        words = dict.fromkeys(self.script.operands)
        parts = (
            part for word in words for each in expand(word, self.folder) for part in _parts(each)
        )
        return [self.operand(os.path.expanduser(part)) for part in dict.fromkeys(parts) if part]

    @cached_property
    def starts(self) -> "Starts":
        """Index the positions where commands may begin, by the names of their programs."""
        return starts_of(self.script)

    @cached_property
    def sandbox(self) -> str:
        """Return the sandbox that holds the command of this call, "" without one.

        Only a tool of commands starts them through the session's sandbox for certain.
        """
        is_held = self.call.name == SHELL or bool(self.tool.commands)
        return self.session.sandbox if self.started and is_held else ""

    @property
    def lacks_sandbox(self) -> bool:
        """Return True if the model's command should run in a sandbox, and none works."""
        if not self.started or self.call.typed:
            return False
        try:
            self.session.find_sandbox()
        except ToolError:
            return True
        return False

    @property
    def trusts_sandbox(self) -> bool:
        """Return True if the settings let a sandbox stand in for a question."""
        return self.settings.sandboxed == "allow" and not self.settings.only_managed_allow

    @property
    def requested(self) -> Access | None:
        """The access that the model asks for, None where it leaves that to the mode."""
        value = self.call.arguments.get("access")
        is_known = self.call.name == SHELL and value in {Access.WRITE, Access.OUTSIDE}
        return Access(str(value)) if is_known else None

    @cached_property
    def access(self) -> Access | None:
        """The access of the call's processes, None for a call without a sandbox.

        A person's own command runs as in their shell. A model gets what the mode gives, unless it
        asks for more.
        """
        if not self.sandbox:
            return None
        if self.call.typed:  # by a person, or by a program for one: the check of a task, say
            return Access.OUTSIDE if self.session.interactive else Access.WRITE
        if self.mode == Mode.PLAN:
            return Access.READ
        is_asking = self.mode == Mode.ASK and self.call.name == SHELL and self.trusts_sandbox
        return self.requested or (Access.READ if is_asking else Access.WRITE)

    @property
    def is_held(self) -> bool:
        """Return True if a sandbox keeps secret and protected files from the call's command."""
        return self.access in {Access.READ, Access.WRITE}

    @property
    def may_use_sandbox(self) -> bool:
        """Return True if a command may run unasked because a sandbox holds it."""
        return self.trusts_sandbox and self.is_held

    @cached_property
    def paths(self) -> "list[ResolvedPath]":
        """Return the paths among the arguments, resolved as the workspace opens them."""
        if ANY_TOOL in self.tool.composed_of:
            return []  # each of its calls is judged by itself
        return [self.session.resolve(path) for path in named_paths(self.call.arguments)]

    @cached_property
    def path_names(self) -> frozenset[str]:
        """All names of the paths among the arguments, folded as rules compare them."""
        return frozenset(paths.fold_path(name) for path in self.paths for name in path.names)

    @cached_property
    def directory(self) -> str:
        """The working directory of a command, relative to the workspace."""
        start = str(self.call.arguments.get("workdir", HERE))
        return HERE if start in {HERE, "./"} else self.session.resolve(start).path

    @cached_property
    def folder(self) -> str:
        """Return the working directory of a command as an absolute path."""
        return os.path.normpath(os.path.join(self.session.cwd, self.directory))

    def operand(self, word: str) -> "ResolvedPath":
        """Resolve a word of the command as the program that gets it does."""
        if word not in self._resolved:
            self._resolved[word] = self.session.resolve(word, self.directory, literal=True)
        return self._resolved[word]

    def refusal(self, path: "ResolvedPath") -> str:
        """Return the reason a path must not be read, or "" if it may be."""
        if name := paths.secret(path.names, *self.settings.secret_names):
            return paths.WHY_DENIED.format(name)
        return self.session.readable.refuses(path.path) if path.is_inside else ""


def _parts(word: str) -> tuple[str, ...]:
    """Return the possible paths in it: a word, the value of an option or a variable, `-o/path`."""
    return word, word.rpartition("=")[2], word[2:] if word[0:1] == "-" and "/" in word else ""
