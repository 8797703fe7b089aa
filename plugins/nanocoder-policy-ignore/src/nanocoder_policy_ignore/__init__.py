"""Files that no tool reads: what `.nanocoderignore` names, in the syntax of `.gitignore`."""

from nanocoder import PathFilter, SessionInfo, hookimpl

from nanocoder_policy_ignore.settings import Settings

# Every start imports this module: what reads the files is imported before the first is opened.


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of the table [plugins.policy-ignore]."""
    return Settings


@hookimpl
def nanocoder_readable(session: SessionInfo, settings: Settings | None) -> PathFilter | None:
    """Keep what the ignore files name from every tool; None where there is no such file."""
    from nanocoder_policy_ignore.ignored import read_ignored

    return read_ignored(session, settings or Settings())
