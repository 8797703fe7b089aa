"""Build what a session works with: configuration, plugins and journal, in the safe order."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from attrs import field, frozen
from nanocoder_schema import Value, did_you_mean

from nanocoder.config.config import Config
from nanocoder.config.places import own_folders
from nanocoder.errors import ConfigError, UsageError
from nanocoder.hooks.contributions import Dialect
from nanocoder.path.approval import Approver, Asker
from nanocoder.path.queue import Admission
from nanocoder.plugins import Plugins
from nanocoder.session.config_check import refuse_misspelt
from nanocoder.session.installed import installed_plugins
from nanocoder.session.journal import Journal
from nanocoder.session.runtime import Runtime
from nanocoder.session.store import SessionStore
from nanocoder.session.transcript import Transcript, repaired
from nanocoder.session.workspaces import (
    existing_directory,
    open_workspace,
    restore_interrupted_changes,
)
from nanocoder.tools.session_info import SessionInfo
from nanocoder.values import Mode


@frozen(eq=False, repr=False)
class SessionOptions(Value):
    """The options of `nanocoder.open_session`, which describes each."""

    cwd: str | os.PathLike[str] = "."
    model: str = ""
    mode: Mode | str | None = None
    approve: Approver | None = None
    ask: Asker | None = None
    interactive: bool = False
    output: str = "text"
    max_turns: int | None = None
    resume: str = ""
    dialect: str = ""
    dry_run: bool = False
    plugins: Plugins | None = None
    config: Config | None = None
    persist: bool = True
    warn: Callable[[str], None] = lambda _line: None
    environment: Mapping[str, str] = field(factory=lambda: os.environ)

    def load_config(self, root: Path) -> Config:
        """Return the configuration of *root*, with the options that are flags."""
        flags = {"model": self.model or None, "mode": self.mode, "max_turns": self.max_turns}
        flags["dialect"] = self.dialect or None
        return self.config or Config.load(root, flags=flags, environment=self.environment)


def build_runtime(options: SessionOptions) -> Runtime:
    """Return what a session with *options* works with.

    Raises: ConfigError, UsageError, PluginError (a policy that does not load).
    """
    root = existing_directory(options.cwd)
    config = options.load_config(root)
    if config.refusal:
        raise ConfigError(config.refusal)
    if config.warning:
        options.warn(config.warning)
    plugins = options.plugins
    if plugins is None:
        plugins = installed_plugins(config, options.environment)
    refuse_misspelt(config, plugins)
    plugins.require_policies()
    restore_interrupted_changes(root, options.environment, options.warn)
    journal, transcript = _open_journal(options, config, root)
    info = SessionInfo(
        id=journal.id if journal is not None else "unsaved",
        cwd=root,
        mode=Mode(config.core.mode),
        model=_choose_name(config, transcript, options.warn),
        interactive=options.interactive,
        output=options.output,
        folder=journal.artifacts if journal is not None else None,
        own_folders=own_folders(options.environment),
        outputs=journal.outputs if journal is not None else None,
        dry_run=options.dry_run,
    )
    return Runtime(
        plugins=plugins,
        config=config,
        workspace_opener=partial(
            open_workspace, root, journal, config, environment=options.environment
        ),
        info=info,
        journal=journal,
        approve=options.approve,
        ask=options.ask,
        messages=transcript.messages,
        max_turns=config.core.max_turns,
        admission=Admission(config.core.concurrency, config.core.max_waiting_calls),
        dialect=find_dialect(plugins, config.core.dialect) if config.core.dialect else None,
    )


def _open_journal(
    options: SessionOptions, config: Config, root: Path
) -> tuple[Journal | None, Transcript]:
    if not options.persist:
        return None, Transcript()
    store = SessionStore.of_user(options.environment, warn=options.warn)
    if not options.resume:
        _, journal = store.create(root, config.core.model, str(config.core.mode))
        return journal, Transcript()
    records, journal = store.open(options.resume, cwd=root)
    transcript = repaired(records, journal.artifacts)
    if transcript.cwd and transcript.cwd != str(root):
        options.warn(f"session {journal.id} was started in {transcript.cwd} and resumes in {root}")
    return journal, transcript


def _choose_name(config: Config, resumed: Transcript, warn: Callable[[str], None]) -> str:
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
        instead = f": {why}" if why else instead
        raise UsageError(f"there is no dialect {name!r}{instead}")
    dialect: Dialect = offered[1]
    return dialect
