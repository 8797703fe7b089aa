"""The door of the Python API: open a session, each part in the safe order."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from nanocoder_schema import did_you_mean

from nanocoder.config.config import Config
from nanocoder.config.places import own_folders
from nanocoder.errors import ConfigError, UsageError
from nanocoder.hooks.contributions import Dialect
from nanocoder.path.approval import Approver, Asker
from nanocoder.path.queue import Admission
from nanocoder.plugins import Plugins
from nanocoder.session.conversation import Conversation
from nanocoder.session.installed import installed_plugins, refuse_misspelt
from nanocoder.session.journal import Journal
from nanocoder.session.runtime import Runtime, kept_in
from nanocoder.session.session import Session
from nanocoder.session.store import SessionStore
from nanocoder.session.tool_list import ToolList
from nanocoder.session.transcript import Transcript, repaired
from nanocoder.session.workspaces import (
    existing_directory,
    open_workspace,
    restore_interrupted_changes,
)
from nanocoder.tools.session_info import CallLimit, SessionInfo
from nanocoder.values import Mode

Warn = Callable[[str], None]


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

    * *model*: "provider/model"; without it the configured one, or the first that can be used
    * *mode*: "plan", "ask", "edits" or "auto"; without it the configured one
    * *approve*: answers approval requests; without it the installed UI plugins do
    * *ask*: answers the questions of tools; without it the installed UI plugins do
    * *interactive*: whether a person can be asked at the terminal
    * *output*: the form of the output, for plugins that look at it
    * *max_turns*: how often the model is asked in one run
    * *resume*: the ID of a session to continue, or "last"
    * *dialect*: the dialect in which tools are offered
    * *dry_run*: whether calls that would change something are shown and not done
    * *plugins*: a set of plugins instead of the installed ones
    * *config*: a configuration instead of the layers of *cwd*
    * *persist*: whether a journal is kept, so that the session can be resumed and undone
    * *warn*: called with each line that a person should know
    * *environment*: the variables to read instead of the process's own

    Raises: ConfigError, UsageError, PluginError (a policy that does not load).
    """
    root = existing_directory(cwd)
    warn = warn or (lambda _line: None)
    environment = os.environ if environment is None else environment
    if config is None:
        flags = {"model": model or None, "mode": mode, "max_turns": max_turns}
        flags["dialect"] = dialect or None
        config = Config.load(root, flags=flags, environment=environment)
    plugins = _checked_plugins(plugins, config, environment, warn)
    restore_interrupted_changes(root, environment, warn)
    journal, transcript = None, Transcript()
    if persist:
        store = SessionStore.of_user(environment, warn=warn)
        journal, transcript = _open_journal(store, resume, config, root, warn)
    info = SessionInfo(
        id="unsaved",
        cwd=root,
        mode=Mode(config.core.mode),
        model=_choose_name(config, transcript, warn),
        interactive=interactive,
        output=output,
        own_folders=own_folders(environment),
        dry_run=dry_run,
        call_limit=CallLimit(config.core.concurrency),
    )
    name = config.core.dialect
    runtime = Runtime(
        plugins=plugins,
        config=config,
        workspace_opener=partial(open_workspace, root, journal, config, environment=environment),
        info=info if journal is None else kept_in(journal, info),
        journal=journal,
        approve=approve,
        ask=ask,
        conversation=Conversation(transcript.messages),
        tool_list=ToolList(plugins, find_dialect(plugins, name) if name else None),
        max_turns=config.core.max_turns,
        admission=Admission(info.call_limit, config.core.max_waiting_calls),
    )
    return Session(runtime)


def _checked_plugins(
    plugins: Plugins | None, config: Config, environment: Mapping[str, str], warn: Warn
) -> Plugins:
    """Return *plugins*, or the installed ones, once they and *config* may be relied on."""
    if config.refusal:
        raise ConfigError(config.refusal)
    if config.warning:
        warn(config.warning)
    if plugins is None:
        plugins = installed_plugins(config, environment)
    refuse_misspelt(config, plugins)
    plugins.require_policies()
    return plugins


def _open_journal(
    store: SessionStore, resume: str, config: Config, root: Path, warn: Warn
) -> tuple[Journal, Transcript]:
    if not resume:
        _, journal = store.create(root, config.core.model, str(config.core.mode))
        return journal, Transcript()
    records, journal = store.open(resume, cwd=root)
    transcript = repaired(records, journal.artifacts)
    if transcript.cwd and transcript.cwd != str(root):
        warn(f"session {journal.id} was started in {transcript.cwd} and resumes in {root}")
    return journal, transcript


def _choose_name(config: Config, resumed: Transcript, warn: Warn) -> str:
    """Return the model's name: from a flag, else the resumed session, else a setting."""
    named = config.core.model
    if not resumed.model or resumed.model == named or config.where("model").layer == "flag":
        return named
    warn(f"continuing with {resumed.model}, this session's model (--model chooses another)")
    return resumed.model


def find_dialect(plugins: Plugins, name: str) -> Dialect:
    """Return the dialect called *name*; raises UsageError, or PluginError where two offer it."""
    offered = plugins.offered("dialects", name)
    if offered is None:
        have = [offer["name"] for _, offer in plugins.offers("dialects")]
        why = plugins.why_missing(name, "dialects")
        instead = f"{did_you_mean(name, have, '.')} Installed: {', '.join(have) or 'none'}"
        raise UsageError(f"there is no dialect {name!r}{f': {why}' if why else instead}")
    dialect: Dialect = offered[1]
    return dialect
