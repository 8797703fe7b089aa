"""The policy acme-policy-branches: no push to a protected branch, no reading of release keys."""

from attrs import field, frozen
from nanocoder import Decision, Effect, PathFilter, Tool, ToolCall, Verdict, hookimpl

from acme_nanocoder_branches.pushes import Unreadable, protected_by, pushed_branches


@frozen
class Settings:
    """The table [plugins.acme-policy-branches]. *protected*: patterns of branches.

    *keys*: folders with the keys that sign releases. A project's file may add to both and take none
    away.
    """

    protected: tuple[str, ...] = field(
        default=("main", "master", "release/*"), metadata={"tighten": "union"}
    )
    keys: tuple[str, ...] = field(default=("release-keys",), metadata={"tighten": "union"})


class ReleaseKeys(PathFilter):
    """Refuses to read the folders with the keys that sign releases."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._folders = frozenset(folders)

    def refuses(self, path: str) -> str:
        """Refuse a folder of keys, and so all that lies in it."""
        return "keys that sign releases" if path.rpartition("/")[2] in self._folders else ""


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.acme-policy-branches]."""
    return Settings


@hookimpl
def nanocoder_readable(settings: Settings | None) -> PathFilter:
    """Hide the keys that sign releases from every tool that reads."""
    return ReleaseKeys((settings or Settings()).keys)


@hookimpl
def nanocoder_before_execute(
    call: ToolCall, tool: "Tool[..., object]", settings: Settings | None
) -> Verdict | None:
    """Deny a command that pushes to a protected branch, and ask if that is uncertain."""
    command = call.arguments.get("command")
    if Effect.EXECUTE not in tool.effects or not isinstance(command, str):
        return None
    patterns = (settings or Settings()).protected
    try:
        branches = pushed_branches(command)
    except Unreadable as problem:
        return Verdict(Decision.ASK, f"a push whose branch is not plain: {problem}", rule="push")
    for branch in branches:
        pattern = protected_by(branch, patterns)
        if pattern:
            reason = f"the branch {branch!r} is protected; open a merge request instead"
            return Verdict(Decision.DENY, reason, rule=pattern)
    return None
