"""The door of the Python API: opening a session."""

import os
from collections.abc import Callable, Mapping

from nanocoder.config.config import Config
from nanocoder.path.approval import Approver, Asker
from nanocoder.plugins import Plugins
from nanocoder.session.build import SessionOptions, build_runtime
from nanocoder.session.loop import Session
from nanocoder.values import Mode


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
    warn: Callable[[str], None] | None = None,
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
    options = SessionOptions(
        cwd,
        model=model,
        mode=mode,
        approve=approve,
        ask=ask,
        interactive=interactive,
        output=output,
        max_turns=max_turns,
        resume=resume,
        dialect=dialect,
        dry_run=dry_run,
        plugins=plugins,
        config=config,
        persist=persist,
        warn=warn or (lambda _line: None),
        environment=os.environ if environment is None else environment,
    )
    return Session(build_runtime(options))
