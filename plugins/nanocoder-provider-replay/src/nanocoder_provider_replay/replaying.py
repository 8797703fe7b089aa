"""Replay a whole session: without its model, its tools, its clock or the people in it."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen
from nanocoder import Config, Host, NanocoderError, Session, UsageError, open_session
from nanocoder_kit_sessions import Record

from nanocoder_provider_replay.journal import REPEATED_ENDS
from nanocoder_provider_replay.playback import PLUGIN, STORE, Playback
from nanocoder_provider_replay.recording import Recording, as_json, moved, read_recording
from nanocoder_provider_replay.settings import Settings

LISTENING: Final = frozenset(
    f"nanocoder_{name}" for name in ("settings", "event", "commands", "resources")
)
NO_RECORDS: Final = "has no records, which a replay of the whole session needs; record it again"


@frozen
class Replayed:
    """The result of a replay.

    *divergence* is the first difference, "" if there is none; *records* are the compared records
    of its journal, with the clock and ids of the recording.
    """

    session: str
    divergence: str
    records: Sequence[Record]


def replay_file(
    path: str | os.PathLike[str],
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str] | None,
) -> str:
    """Replay the recording *path*; see `replay` of this package."""
    return replayed(read_recording(os.fspath(path)), Path(cwd), environment).divergence


def replayed(
    recording: Recording, cwd: Path, environment: Mapping[str, str] | None = None
) -> Replayed:
    """Replay *recording* in *cwd*, and return the result; raises UsageError, ConfigError."""
    if not recording.records:
        raise UsageError(f"the recording {recording.name!r} {NO_RECORDS}")
    recording = moved(recording, str(cwd.resolve()))
    with tempfile.TemporaryDirectory(prefix="nanocoder-replay-") as folder:
        file = Path(folder) / "recording.json"
        file.write_text(as_json(recording), encoding="utf-8")
        flags = {"model": f"replay/{file}", "mode": recording.mode or "ask", "store": STORE}
        host = Host(str(cwd))
        options: dict[str, Any] = {} if environment is None else {"environment": environment}
        host.config = Config.load(host.cwd, flags=flags, **options)
        playback = _with_playback(host, recording)
        _run(host, playback, recording, options)
    journal = playback.journal
    journal.finish()
    return Replayed(recording.session, journal.divergence, journal.compared())


def replay_tools(
    path: str | os.PathLike[str],
    cwd: str | os.PathLike[str],
    environment: Mapping[str, str] | None,
) -> str:
    """Replay the recording *path* with the tools; see `replay_with_tools` of this package."""
    recording = read_recording(os.fspath(path))
    options: dict[str, Any] = {} if environment is None else {"environment": environment}
    options |= {"mode": recording.mode or "ask", "approve": Playback(recording).approve}
    model = f"replay/{Path(path).resolve()}"
    with open_session(cwd, model=model, persist=False, **options) as session:
        for run in runs_of(recording):
            if run.end not in REPEATED_ENDS:
                break  # it was ended from outside
            _play(session, run)
            report = session.report
            if report.stop_reason not in REPEATED_ENDS:
                problem = report.error["message"] if report.error else report.stop_reason
                return f"the run of {run.typed or run.prompt!r} ended otherwise: {problem}"
    return ""


@define
class RecordedRun:
    """One run: its prompt, the typed part of it, and the lines typed while the model worked.

    *steered* has these lines by the number of replies before them; *end* is the stop reason.
    """

    prompt: str
    typed: str | None
    replies: int = 0
    steered: dict[int, list[str]] = field(factory=dict)
    end: str = ""

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        """Add the data of a record of the run."""
        if kind == "message" and data.get("role") == "assistant":
            self.replies += 1
        elif kind == "run.steered":
            self.steered.setdefault(self.replies, []).append(str(data.get("prompt", "")))
        elif kind == "run.finished":
            self.end = str(data.get("stop_reason", ""))


def runs_of(recording: Recording) -> Sequence[RecordedRun]:
    """Return the runs of *recording* in their order."""
    runs: list[RecordedRun] = []
    is_new = False
    for record in recording.records:
        kind, data = record["kind"], record["data"]
        if kind == "run.started":
            is_new = True
        elif is_new and kind == "message" and data.get("role") == "user":
            is_new = False
            runs.append(RecordedRun(str(data.get("text", "")), data.get("typed")))
        elif runs:
            runs[-1].add(kind, data)
    return runs


def _play(session: Session, run: RecordedRun) -> None:
    """Run the prompt, and send the steered lines after the same replies."""
    replies = 0
    for event in session.run(run.prompt, typed=run.typed):
        is_reply = event.kind == "message" and event.data["role"] == "assistant"
        replies += is_reply
        if is_reply or event.kind == "run.started":
            for line in run.steered.get(replies, ()):
                session.steer(line)


def _with_playback(host: Host, recording: Recording) -> Playback:
    """Add the playback to the plugins of *host*, and remove those that only observe.

    A log or a dashboard must not show a replayed run.
    """
    plugins, config = host.plugins, host.config
    for name, entry in list(plugins.entries.items()):
        if "nanocoder_event" in entry.hooks and LISTENING.issuperset(entry.hooks):
            plugins.remove(name, "only listens, and nothing happens in a replay")
    settings = plugins.settings("provider-replay") or Settings()
    playback = Playback(recording, settings.may_differ)
    plugins.add(playback, PLUGIN)
    plugins.configure(
        config.settings,
        disabled=config.disabled_plugins,
        owners=config.tool_owner,
        names=config.tool_rename,
        hidden=config.disabled_tools,
        wrapping={*config.plugins_with_settings, PLUGIN},
        trusted_folder=config.trusted_folder,
    )
    return playback


def _run(host: Host, playback: Playback, recording: Recording, options: Mapping[str, Any]) -> None:
    """Run every prompt of the recording until one diverges."""
    with open_session(
        host.cwd,
        config=host.config,
        plugins=host.plugins,
        approve=playback.approve,
        warn=host.say,
        **options,
    ) as session:
        for run in runs_of(recording):
            try:
                _play(session, run)
            except NanocoderError as error:
                raise UsageError(f"the session cannot be replayed: {error}") from error
            if playback.journal.divergence or playback.journal.is_over:
                return
