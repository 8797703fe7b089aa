"""One call with everything that the steps of judging ask about it."""

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve
from nanocoder import Effect, Mode, SessionInfo, Tool, ToolCall, named_paths

from nanocoder_policy_rules import paths, shell, workspace_programs
from nanocoder_policy_rules.brought_names import Brought, brought_along
from nanocoder_policy_rules.cached_properties import cached_property
from nanocoder_policy_rules.changed_places import changed_places
from nanocoder_policy_rules.command_search import Text, recognised_text, unknown_text
from nanocoder_policy_rules.named_places import NamedPlaces
from nanocoder_policy_rules.reach import HERE, Reach
from nanocoder_policy_rules.reading_commands import are_safe
from nanocoder_policy_rules.removal import Removal
from nanocoder_policy_rules.rules import SHELL
from nanocoder_policy_rules.settings import UncheckedSettings as Settings

if TYPE_CHECKING:
    from nanocoder import ResolvedPath

ANY_TOOL: Final = "*"


class Case:
    """One call and facts about it, each worked out once and only when needed."""

    def __init__(
        self, call: ToolCall, tool: Tool[..., Any], session: SessionInfo, settings: Settings
    ) -> None:
        self.call = call
        self.session = session
        self.tool = tool
        # A mode is for calls of the model; no person is asked about one that a person typed.
        self.mode = Mode.ASK if call.typed else session.mode
        self.agent = session.agent
        self.settings = settings

    def with_only(self, name: str) -> "Case":
        """Return the same call with one argument, as text where it is a number or a switch."""
        value = self.call.arguments[name]
        if not isinstance(value, str | list | dict):
            value = json.dumps(value)
        call = evolve(self.call, arguments={name: value})
        return Case(call, self.tool, self.session, self.settings)

    @cached_property
    def command(self) -> str:
        """Return the command when this is a call of the shell, else ""."""
        return self.started if self.call.name == SHELL else ""

    @cached_property
    def started(self) -> str:
        """Return the command that the call would run, by whichever tool or step."""
        effects, arguments = self.tool.effects, self.call.arguments
        is_run = self.call.name == SHELL or not effects or Effect.EXECUTE in effects
        names = dict.fromkeys((*(["command"] if is_run else []), *self.tool.commands))
        values = map(arguments.get, names)
        return "\n".join([value for value in values if value and isinstance(value, str)])

    @cached_property
    def simples(self) -> "Sequence[shell.Simple] | None":
        """Return the recognised commands; None when any part of the text is unknown."""
        return shell.commands(self.command)

    @cached_property
    def text(self) -> Text:
        """Return the command, split up to search it for denied commands."""
        return recognised_text(self.command) if self.command else unknown_text(self.started)

    @property
    def words(self) -> list[str]:
        """All words that the command could be hiding, and the names that a shell makes of some."""
        return self.places.known_words

    @cached_property
    def places(self) -> NamedPlaces:
        """Return the places that the words of the command may name, wherever it goes."""
        return NamedPlaces(self.text, self.reach)

    @cached_property
    def brought(self) -> Brought:
        """Return the first protected name that comes with a folder that the command copies."""
        return brought_along(self.text, self.places, self.reach)

    @cached_property
    def changed(self) -> "tuple[list[ResolvedPath], set[str]]":
        """Return what the command changes, and all names of it as rules compare them."""
        return changed_places(self.text, self.reach, self.places.directories)

    @cached_property
    def keeps_paths(self) -> bool:
        """Tell whether a rule that holds now keeps a path from tools that read."""
        session, settings = self.session, self.settings
        if settings.denying.keeps_paths(session, self.mode):
            return True
        return settings.asking.keeps_paths(session, self.mode)

    def is_masked(self, folder: str = "") -> bool:
        """Tell whether a sandbox hides all that is kept back below *folder*, or wherever it is.

        A sandbox hides what is kept back in the workspace, and knows nothing of rules outside.
        """
        if not self.session.sandbox:
            return False
        if folder:
            return self.session.resolve(folder, literal=True).is_inside
        return not self.reach.rules_outside.has_rules

    @cached_property
    def removal(self) -> Removal:
        """Return the judge of what the command removes."""
        root, directory = str(self.session.cwd), self.directory
        return Removal(root, root if directory == HERE else os.path.join(root, directory))

    @cached_property
    def is_safe(self) -> bool:
        """Tell whether the command is recognised and only reads."""
        simples = self.simples or ()
        return bool(simples) and are_safe(simples, self.reach) and not self.own_program

    @cached_property
    def own_program(self) -> str:
        """Return the program in the workspace that would run as one of the command's, or ""."""
        path = os.environ.get("PATH", "")
        for simple in self.simples or ():
            program = workspace_programs.find_in_workspace(simple.words, self.session, path)
            if program:
                return program
        return ""

    @cached_property
    def paths(self) -> "list[ResolvedPath]":
        """Return the paths among the arguments, resolved as the workspace opens them."""
        if ANY_TOOL in self.tool.composed_of:
            return []  # each of its calls is judged by itself
        return [self.session.resolve(path) for path in self.named]

    @cached_property
    def named(self) -> list[str]:
        """Return the paths among the arguments as they are spelled."""
        return named_paths(self.call.arguments)

    @cached_property
    def path_names(self) -> frozenset[str]:
        """Return all names of the paths among the arguments, folded as rules compare them."""
        return frozenset(paths.fold_path(name) for path in self.paths for name in path.names)

    @cached_property
    def directory(self) -> str:
        """Where a command runs, as written."""
        return str(self.call.arguments.get("workdir", HERE))

    @cached_property
    def reach(self) -> Reach:
        """Return the judge of what the command may read."""
        return Reach(self.session, self.settings, self.directory)

    @cached_property
    def missing(self) -> str:
        """Return the only path that a reading call names, if it does not exist; or ""."""
        only = paths.only_path(self.call.arguments) if self.tool.is_read_only else ""
        return only if only and not self.session.resolve(only).exists else ""

    def secret_in(self, names: Iterable[str]) -> str:
        """Return the name in some paths that is secret, or ""."""
        return paths.secret(names, self.settings.all_secrets, self.settings.all_not_secrets)
