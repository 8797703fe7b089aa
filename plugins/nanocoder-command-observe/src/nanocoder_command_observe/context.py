"""`nanocoder context`: the use of the model's context window, as shown by `/context`."""

from argparse import Namespace
from typing import Any

from attrs import asdict
from nanocoder import Host, Message, PersonError, Session
from nanocoder_kit_sessions import session_store
from nanocoder_kit_sessions.context import ASSUMED_WINDOW, aligned, sources_of, window_rows

ASSUMED = f"without a model, the share is of an assumed window of {ASSUMED_WINDOW:,} tokens"
UNKNOWN = "the window of this model is unknown: `nanocoder config set context N` sets it, in tokens"


def run(arguments: Namespace, host: Host) -> int:
    """Print the tokens of each source in the next request of a new or a stored session.

    No request is sent, and no session is saved.
    """
    messages: tuple[Message, ...] = ()
    session_id = ""
    if arguments.session is not None:
        store = session_store(host)
        session_id = store.find(arguments.session, cwd=host.cwd)
        messages = tuple(store.transcript(session_id).messages)
    with host.session(persist=False) as session:
        window = _window(session)
        sources = sources_of(session, messages)
        model = session.info.model
    if arguments.output == "json":
        used = sum(source.tokens for source in sources)
        data = {"session_id": session_id, "model": model, "used_tokens": used, **window}
        host.print_json({**data, "sources": [asdict(source) for source in sources]})
        return 0
    rows = aligned(window_rows(sources, window["window_tokens"]))
    width = max(len(name) for name, _, _ in rows)
    for name, tokens, bar in rows:
        host.print_line(f"{name:{width}}  {tokens}  {bar}".rstrip())
    if window["problem"]:
        host.say(window["problem"])
    return 0


def _window(session: Session) -> dict[str, Any]:
    """Return the size of the window, and why it may be another."""
    try:
        window = session.window_tokens
    except PersonError as error:
        if session.info.model:
            raise  # a model that was named has to be there
        return {"window_tokens": ASSUMED_WINDOW, "problem": f"{ASSUMED}\n{error}"}
    return {"window_tokens": window or ASSUMED_WINDOW, "problem": "" if window else UNKNOWN}
