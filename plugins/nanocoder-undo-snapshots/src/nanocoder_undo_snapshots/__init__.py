"""Snapshots around calls that run programs, so that undo restores their changes, too."""

from nanocoder import Event, PluginError, SessionInfo, hookimpl

from nanocoder_undo_snapshots.settings import Settings


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.undo-snapshots]`."""
    return Settings


@hookimpl(events=["call.started:execute", "call.returned:execute", "session.finished"])
def nanocoder_event(event: Event, session: SessionInfo, settings: Settings) -> None:
    """Scan the files before and after each call that runs programs."""
    if event.kind == "session.finished" and not session.parent:
        if recorder := settings.recorders.pop(session.id, None):
            recorder.close()
        return
    is_start = event.kind == "call.started"
    main = session.parent or session.id
    # An agent in a directory of its own has its changes merged by a tool, or thrown away.
    if session.origins or (session.folder is None and session.parent):
        return
    if is_start and main not in settings.recorders:
        from nanocoder_undo_snapshots.recorder import OFF, PLUGIN, Recorder  # a start runs none

        if session.folder is None:
            settings.recorders[main] = None  # a person reads of it once
            raise PluginError(PLUGIN, OFF.format("it is not kept"))
        settings.recorders[main] = Recorder.of_session(session, settings)
    recorder = settings.recorders.get(main)
    if recorder is None:
        return
    call = f"{session.id}/{event.call_id}" if session.parent else event.call_id
    if is_start:
        recorder.start(call)
    elif event.kind == "call.returned":
        recorder.end(call)
