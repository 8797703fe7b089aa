"""The publisher and the age of a package, as its index gives them before a download."""

import json
import re
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from queue import Empty, SimpleQueue
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from nanocoder import counted, one_line

from nanocoder_command_setup.installer import TIMEOUT_S

ANSWER: Final = "application/vnd.pypi.simple.v1+json"
"""The form of an index's answer (https://peps.python.org/pep-0691/)."""
MAX_BYTES: Final = 20_000_000
MAX_FILES: Final = 4
LINE_CHARS: Final = 200
UNUSABLE: Final = (
    *(OSError, HTTPException, ValueError, LookupError, TypeError, AttributeError),
    *(RecursionError, OverflowError),
)
"""Errors of an index that cannot be asked, or answers in another form."""


def lines_about(package: str, index: str) -> Iterator[str]:
    """Yield lines from the *index* about a package: its owner, age and newest files.

    No file is downloaded.
    """
    name = re.sub(r"[-_.]+", "-", package).lower()
    source = without_password(index) or "Its index"
    yield f"{name} is not a package of nanocoder. {source} says of it:"
    try:
        page = _in_time(f"{index.rstrip('/')}/{quote(name)}/", ANSWER)
        files = sorted(page["files"], key=_day)
        yield from (f"  {one_line(row, LINE_CHARS)}" for row in _rows(files, _owners(index, name)))
    except UNUSABLE as error:
        yield f"  nothing about its owner and age ({one_line(str(error), LINE_CHARS)})"


def without_password(address: str) -> str:
    """Return *address* without a user and a password."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _get(address: str, form: str) -> Any:
    parts = urlsplit(address)
    if parts.scheme not in {"https", "http"}:
        raise ValueError("it is not at an address of http or https")
    request = Request(without_password(address), headers={"Accept": form})  # noqa: S310 - http(s)
    if parts.username:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        # An ordinary header would follow a redirection to another host.
        request.add_unredirected_header("Authorization", f"Basic {b64encode(secret).decode()}")
    with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - as above
        return json.loads(answer.read(MAX_BYTES))


def _in_time(address: str, form: str) -> Any:
    """Ask as `_get` does; raises TimeoutError also where bytes come one by one."""
    answers: SimpleQueue[Any] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_get(address, form))
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            answers.put(error)

    # A daemon: the end of the program would wait for a thread of an executor.
    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=TIMEOUT_S)
    except Empty:
        raise TimeoutError(f"it does not answer within {TIMEOUT_S:g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _owners(index: str, name: str) -> str:
    """Return the owners, as the public index and its mirrors tell them, or ""."""
    root = index.rstrip("/").removesuffix("/simple")
    try:
        ownership = _in_time(f"{root}/pypi/{quote(name)}/json", "application/json")["ownership"]
        users = [role["user"] for role in ownership["roles"]]
        return ", ".join(filter(None, [ownership["organization"], *users]))
    except UNUSABLE:
        return ""


def _day(file: Mapping[str, Any]) -> str:
    return str(file.get("upload-time") or "")[:10]


def _rows(files: Sequence[Mapping[str, Any]], owners: str) -> Iterator[str]:
    yield f"owner: {owners or 'not told by this index'}"
    first, last = _day(files[0]), _day(files[-1])
    age = f"since {first}, newest of {last}" if first else "not told by this index"
    yield f"age: {age}; {counted(len(files), 'file')}"
    newest = [file for file in files if _day(file) == last]
    for file in newest[-MAX_FILES:]:
        yield f"{file['filename']}, {int(file.get('size') or 0):,} bytes"
