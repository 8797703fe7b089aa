"""Calls that cannot work end with their error before anybody is asked, whatever tool it is."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import nanocoder_policy_rules
import nanocoder_tool_bash
import nanocoder_tool_compose
import nanocoder_tool_delete
import nanocoder_tool_devserver
import nanocoder_tool_edit
import nanocoder_tool_http
import nanocoder_tool_move
import nanocoder_tool_patch
import nanocoder_tool_read
import nanocoder_tool_web
import nanocoder_tool_write
import pytest
from nanocoder import ApprovalAnswer
from nanocoder_testing import opened
from nanocoder_testing.playing import called

TOOLS = [
    nanocoder_policy_rules,
    nanocoder_tool_bash,
    nanocoder_tool_compose,
    nanocoder_tool_delete,
    nanocoder_tool_devserver,
    nanocoder_tool_edit,
    nanocoder_tool_http,
    nanocoder_tool_move,
    nanocoder_tool_patch,
    nanocoder_tool_read,
    nanocoder_tool_web,
    nanocoder_tool_write,
]

LOST = "*** Begin Patch\n*** Update File: a.txt\n@@\n-not there\n+new\n*** End Patch\n"
RENAME = {"files": ["a.txt"], "old": "lost", "new": "found", "check": "true"}
IMPOSSIBLE = [
    ("edit_file", {"path": "a.txt", "old_string": "lost", "new_string": "x"}, "text_not_found"),
    ("edit_file", {"path": "b.txt", "old_string": "one", "new_string": "x"}, "file_not_found"),
    ("edit_file", {"path": "../x", "old_string": "a", "new_string": "b"}, "path_outside_workspace"),
    ("write_file", {"path": "/etc/motd", "content": "x"}, "path_outside_workspace"),
    ("write_file", {"path": "folder", "content": "x"}, "is_a_directory"),
    ("move_file", {"source": "b.txt", "destination": "c.txt"}, "file_not_found"),
    ("move_file", {"source": "a.txt", "destination": "folder"}, "file_exists"),
    ("delete_file", {"path": "b.txt"}, "file_not_found"),
    ("delete_file", {"path": "folder"}, "is_a_directory"),
    ("apply_patch", {"patch": "please change a.txt"}, "invalid_patch"),
    ("apply_patch", {"patch": LOST}, "text_not_found"),
    ("atomic_edit", {"file_path": "b", "old_string": "a", "new_string": "b"}, "file_not_found"),
    ("atomic_refactor", RENAME, "text_not_found"),
    ("bash", {"command": "touch x", "workdir": "nowhere"}, "cwd_missing"),
    ("bash", {"command": " "}, "invalid_arguments"),
    ("dev_server", {"action": "start"}, "invalid_arguments"),
    ("dev_server", {"action": "stop"}, "invalid_arguments"),
    ("web_fetch", {"url": "not a url"}, "invalid_url"),
    ("web_fetch", {"url": "http://10.0.0.1/"}, "private_address"),
    ("http_check", {"url": "localhost:80"}, "scheme_not_allowed"),
    ("http_check", {"url": "http:///x"}, "invalid_url"),
    ("http_check", {"url": "http://10.0.0.1/", "method": "POST"}, "private_address"),
]


class Person:
    def __init__(self, *, agrees: bool) -> None:
        self.agrees = agrees
        self.asked = []

    def __call__(self, request):
        self.asked.append(request)
        return ApprovalAnswer(request.id, request.digest, approved=self.agrees)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    (root / "folder").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\n")
    return root


def content(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.contract("MA-104")
def test_nobody_is_asked_about_a_call_that_cannot_work(root):
    person, before = Person(agrees=True), content(root)
    with opened(root, plugins=TOOLS, approve=person) as (session, _):
        ended = [called(session, name, arguments) for name, arguments, _ in IMPOSSIBLE]
        assert session.plugins.reports == []
    classes = [
        (name, result.error_class)
        for (name, *_), (result, _) in zip(IMPOSSIBLE, ended, strict=True)
    ]
    assert classes == [(name, error_class) for name, _, error_class in IMPOSSIBLE]
    assert all(result.output for result, _ in ended)
    kinds = {event.kind for _, events in ended for event in events}
    assert "call.started" not in kinds
    assert person.asked == []
    assert content(root) == before


def test_what_was_impossible_with_a_person_is_impossible_without_one(root):
    """The preview finds what the handler would have found: mode auto does not ask."""
    early, late = [], []
    for mode, found in (("ask", early), ("auto", late)):
        with opened(root, plugins=TOOLS, approve=Person(agrees=False), mode=mode) as (session, _):
            for name, arguments, _ in IMPOSSIBLE:
                result, _ = called(session, name, arguments)
                found.append((name, result.error_class))
    assert early == late


SECRET = {"path": ".env", "old_string": "lost", "new_string": "x"}
GUARDED = {"path": "guarded/a.txt", "old_string": "two tow", "new_string": "x"}


def test_a_denied_call_says_nothing_of_the_file_and_a_guarded_one_only_to_the_person(root):
    (root / ".env").write_text("TOKEN=s3cr3t\nlosT\n")
    (root / "guarded").mkdir()
    (root / "guarded/a.txt").write_text("two two tow two\ntwo\n")
    settings = {"policy-rules": nanocoder_policy_rules.Settings(ask=("edit_file(guarded/**)",))}
    person = Person(agrees=False)
    with opened(root, plugins=TOOLS, approve=person, settings=settings) as (session, _):
        there, _ = called(session, "edit_file", SECRET)
        gone, _ = called(session, "edit_file", {**SECRET, "path": "deep/.env"})
        guarded, _ = called(session, "edit_file", {**GUARDED, "old_string": "lost"})
    assert there.output == gone.output
    assert (there.error_class, gone.error_class) == ("denied", "denied")
    assert guarded.output == "denied by the user"
    (asked,) = person.asked
    assert asked.preview.startswith("[this call will fail: old_string")


def test_nothing_is_asked_of_the_net_before_a_person_agreed(root):
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.path)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x"
        person = Person(agrees=False)
        with opened(root, plugins=TOOLS, approve=person) as (session, _):
            result, _ = called(session, "http_check", {"url": url, "method": "POST"})
        server.shutdown()
    assert (result.error_class, len(person.asked), seen) == ("denied", 1, [])
