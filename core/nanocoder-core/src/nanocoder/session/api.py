"""The entry of the Python API: open a session, its parts in a safe order."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from nanocoder_config import own_folders
from nanocoder_schema import ConfigError, UsageError

from nanocoder.call.state import Approver, Asker
from nanocoder.config import Config
from nanocoder.hooks.interfaces import Dialect, Sessions, StoredSession
from nanocoder.plugins import Plugins
from nanocoder.session import sandboxes
from nanocoder.session.conversation import Conversation
from nanocoder.session.model_view import ToolList
from nanocoder.session.runtime import kept_in
from nanocoder.session.session import Session
from nanocoder.session.setup import find_offer, installed_plugins, open_store, refuse_misspelt
from nanocoder.session.workspaces import (
    existing_directory,
    open_workspace,
    restore_interrupted_changes,
)
from nanocoder.tools.queue import Admission
from nanocoder.tools.session_info import CallLimit, SessionInfo
from nanocoder.values import Mode

Warn = Callable[[str], None]

UNATTENDED_TURNS = 250
"""The default limit of turns of one run that nobody can stop."""


def open_session(  # noqa: PLR0913 - each is an option of its own, by name
    cwd: str | os.PathLike[str] = ".",
    *,
    model: str = "",
    mode: Mode | str | None = None,
    approve: Approver | None = None,
    ask: Asker | None = None,
    interactive: bool = False,
    output: str = "text",
    max_turns: int | None = None,
    resume: str = "",
    dialect: str = "",
    dry_run: bool = False,
    plugins: Plugins | None = None,
    config: Config | None = None,
    persist: bool = True,
    warn: Warn | None = None,
    environment: Mapping[str, str] | None = None,
) -> Session:
    """Open a session in directory *cwd*; use it as a context manager.

    * *model*: "provider/model"; without it the configured one, or the first usable one
    * *mode*: "plan", "ask", "edits" or "auto"; without it the configured one
    * *approve*: answers approval requests; without it the installed UI plugins do
    * *ask*: answers the questions of tools; without it the installed UI plugins do
    * *interactive*: whether a person can be asked at the terminal
    * *output*: the form of the output, for plugins that depend on it
    * *max_turns*: the limit of requests in one run (0: no limit with a person, else 250)
    * *resume*: the ID of a session to continue, or "last"
    * *dialect*: the dialect in which tools are offered
    * *dry_run*: whether calls that would change something are shown but not run
    * *plugins*: a set of plugins instead of the installed ones
    * *config*: a configuration instead of the layers of *cwd*
    * *persist*: whether the configured store keeps a journal, to resume and undo the session
    * *warn*: called with each notice for the person
    * *environment*: variables in place of the process's own

    Raises: ConfigError, UsageError, PluginError (a policy that does not load).
    """
    root = existing_directory(cwd)
    warn = warn or (lambda _line: None)
    environment = os.environ if environment is None else environment
    if config is None:
        named = {"model": model or None, "mode": mode, "dialect": dialect or None}
        config = Config.load(root, flags={**named, "max_turns": max_turns}, environment=environment)
    plugins = _checked_plugins(plugins, config, environment, warn)
    notices = sandboxes.check_start(plugins, config, environment)
    # After the policies, so that a refused start changes nothing; before any file is read.
    restore_interrupted_changes(root, environment, warn)
    sessions = _usable_store(plugins, config, environment, warn, resume) if persist else None
    stored = _begin(sessions, resume, config, root, warn) if sessions else None
    journal = stored.journal if stored else None
    info = SessionInfo(
        id="unsaved",  # a journal assigns an ID; without one the session cannot be resumed
        cwd=root,
        mode=Mode(config.core.mode),
        model=_choose_name(config, stored.model if stored else "", warn),
        interactive=interactive,
        answered=interactive or approve is not None,
        output=output,
        own_folders=own_folders(environment),
        dry_run=dry_run,
        call_limit=CallLimit(config.core.concurrency),
    )
    return Session(
        plugins=plugins,
        config=config,
        workspace_opener=partial(open_workspace, root, journal, config, environment=environment),
        info=info if journal is None else kept_in(journal, info),
        sessions=sessions,
        journal=journal,
        approve=approve,
        ask=ask,
        conversation=Conversation(stored.messages if stored else ()),
        tool_list=ToolList(plugins, _dialect(plugins, config.core.dialect)),
        max_turns=config.core.max_turns or (0 if interactive else UNATTENDED_TURNS),
        admission=Admission(info.call_limit, config.core.max_waiting_calls),
        notices=notices,
    )


def _checked_plugins(
    plugins: Plugins | None, config: Config, environment: Mapping[str, str], warn: Warn
) -> Plugins:
    """Return *plugins*, or the installed ones, after checking them and *config*."""
    if config.refusal:
        raise ConfigError(config.refusal)
    if config.warning:
        warn(config.warning)
    if plugins is None:
        plugins = installed_plugins(config, environment)
    refuse_misspelt(config, plugins)
    plugins.require_policies()
    return plugins


def _dialect(plugins: Plugins, name: str) -> Dialect | None:
    return find_offer(plugins, "dialects", "dialect", name)[1] if name else None


def _usable_store(
    plugins: Plugins, config: Config, environment: Mapping[str, str], warn: Warn, resume: str
) -> Sessions | None:
    """Return the configured store; None if none is chosen and none is usable."""
    try:
        return open_store(plugins, config, environment, warn)
    except UsageError as error:
        # A resumed session or a chosen store needs it; the default store is optional.
        if resume or config.where("store").layer != "default":
            raise
        warn(f"this session is not kept: {error}")
        return None


def _begin(
    sessions: Sessions, resume: str, config: Config, root: Path, warn: Warn
) -> StoredSession:
    if not resume:
        return StoredSession(sessions.start(root, config.core.model, str(config.core.mode)))
    stored = sessions.resume(resume, cwd=root)
    if stored.cwd and stored.cwd != str(root):
        warn(f"session {stored.journal.id} was started in {stored.cwd} and resumes in {root}")
    return stored


def _choose_name(config: Config, resumed: str, warn: Warn) -> str:
    """Return the model's name: from a flag, else the *resumed* session's, else a setting."""
    named = config.core.model
    if not resumed or resumed == named or config.where("model").layer in {"flag", "managed"}:
        return named
    warn(f"continuing with {resumed}, this session's model (--model chooses another)")
    return resumed
