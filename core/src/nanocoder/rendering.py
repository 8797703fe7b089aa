"""What a plugin says a call would do, for the person who is asked: it may hold nobody up."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nanocoder import calls
from nanocoder.calls import Implementation, Report
from nanocoder.cancel import Cancel


def rendered(
    implementations: Sequence[Implementation],
    report: Report,
    arguments: Mapping[str, Any],
    limit_s: float,
    cancel: Cancel,
) -> str:
    """Return the first rendering, "" when there is none within *limit_s* seconds.

    Plugins render on a thread of their own, which is left behind when the time is over or *cancel*
    is set; the one that took so long is reported. Raises: Cancelled.
    """
    if not implementations:
        return ""
    begun: list[Implementation] = []
    found: list[str | None] = []
    failed: list[BaseException] = []
    over = threading.Event()

    def each() -> Iterator[Implementation]:
        for one in implementations:
            if not over.is_set():
                begun.append(one)
                yield one

    def work() -> None:
        try:
            found.append(calls.choose(each(), report, arguments, str))
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it again
            failed.append(error)
        finally:
            over.set()

    threading.Thread(target=work, name="nanocoder-render", daemon=True).start()
    forget = cancel.on_set(over.set)
    in_time = over.wait(limit_s)
    over.set()
    forget()
    cancel.check()
    if failed:
        raise failed[0]
    if not in_time and not found:
        report(begun[-1].error(f"took longer than {limit_s:g} s"))
    return (found[0] if found else None) or ""
