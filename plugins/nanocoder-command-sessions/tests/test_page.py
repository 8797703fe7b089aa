"""A session as a page of HTML: readable in a real browser, and inert whatever was said in it."""

import http.server
import re
import shutil
import subprocess
import threading
from html.parser import HTMLParser

import pytest
from nanocoder import Attachment, Message, ToolCall, ToolResult, encode_message
from nanocoder_command_sessions.archive import read_session
from nanocoder_command_sessions.markdown import as_markdown
from nanocoder_command_sessions.page import as_page
from nanocoder_kit_sessions import SessionStore

pytestmark = [pytest.mark.contract("G7"), pytest.mark.timeout(120)]
TAGS = (
    "<script>document.title='OWNED'</script><img src={url} onerror=\"document.title='OWNED'\">"
    "\"'><svg onload=document.title='OWNED'></pre></details><style>*{{display:none}}</style>"
    "<link rel=stylesheet href={url}><iframe src={url}></iframe>"
)
HIDDEN = "\x1b]0;x\x07\x1b[31m \u202eevil\u2066 \u200b\x9b"
LINKS = (
    "[a](javascript:document.title='OWNED') [b](data:text/html,x) <javascript:alert(1)> "
    "[c](vbscript:x) [d](&#106;avascript:alert(1)) [e](JaVaScRiPt:x) [f](//evil.example) "
    "![i]({url}) [r]: {url}\n\n![j][r]\n\n[ok](https://ok.example/?a=1&b=2) &#x202e;\n\n"
    '```" onload=x\n</code>{tags}\n```\n\n<meta http-equiv=refresh content="0;url={url}">'
)
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new\n same"
QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync")


class Page(HTMLParser):
    """The elements of a page, and the text of each kind."""

    def __init__(self, text):
        super().__init__()
        self.elements, self._open = [], []
        self.texts = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_data(self, data):
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def with_class(self, name):
        return [tag for tag, attrs in self.elements if name in (attrs.get("class") or "").split()]

    def values(self, name):
        return [attrs[name] for _, attrs in self.elements if name in attrs]


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state")


def page_of(store, cwd, *messages, title="", usage=None):
    session_id, journal = store.create(cwd, "acme/large", "ask")
    for message in messages:
        more = {"usage": usage} if usage and message.role == "assistant" else {}
        journal.append("message", {**encode_message(message), **more})
    if title:
        journal.rename(title)
    journal.close()
    return as_page(session_id, *read_session(store, session_id))


def answered(output, *, error_class="", text="Yes.", **more):
    call = ToolCall("1", "edit_file", {"path": "x.py"})
    result = ToolResult(
        output, call_id="1", is_error=bool(error_class), error_class=error_class, **more
    )
    return [
        Message("user", "Change it"),
        Message("assistant", text, calls=(call,)),
        Message("tool", results=(result,)),
    ]


def test_prompts_answers_calls_changes_and_costs_are_on_the_page(store, tmp_path):
    usage = {"input_tokens": 1_500, "output_tokens": 20, "cost": 0.25}
    messages = answered(f"Edited.\n{DIFF}", text="**Done** in `x.py`.", metadata={"diff": DIFF})
    text = page_of(store, tmp_path, *messages, *messages, usage=usage)
    page = Page(text)
    assert "<strong>Done</strong> in <code>x.py</code>" in text
    assert page.values("id") == ["p1", "p2"]
    assert page.with_class("call") == ["details"] * 2
    assert "open" not in dict(page.elements[-1][1])
    assert page.with_class("add") == page.with_class("del") == ["span"] * 2
    assert {"3,000", "$0.5000", "acme/large", str(tmp_path)} <= set(page.texts["dd"])
    assert text.count("Edited.") == 2
    assert "+new" in text


@pytest.mark.parametrize(("cost", "shown"), [({"cost": 0.0}, "free"), ({}, "unknown")])
def test_requests_without_a_price_are_free_or_unknown(store, tmp_path, cost, shown):
    usage = {"input_tokens": 10, "output_tokens": 2, **cost}
    page = Page(page_of(store, tmp_path, *answered("Edited."), usage=usage))
    assert shown in page.texts["dd"]


def test_a_call_that_a_person_edited_is_shown_as_it_ran(store, tmp_path):
    asked = answered("Edited y.py")
    session_id, journal = store.create(tmp_path, "acme/large", "ask")
    ran = {"tool": "edit_file", "arguments": {"path": "y.py"}, "call_id": "1"}
    for edited in (False, True):
        for message in asked[:2]:
            journal.append("message", encode_message(message))
        arguments = ran["arguments"] if edited else {"path": "x.py"}
        journal.append("call.started", {**ran, "arguments": arguments, "edited": edited})
        journal.append("message", encode_message(asked[2]))
    journal.close()
    records, transcript = read_session(store, session_id)
    page = as_page(session_id, records, transcript)
    assert page.count("done, edited") == page.count("arguments, edited by a person") == 1
    assert page.count("path=y.py") == page.count("path=x.py") == 1
    assert as_markdown(session_id, transcript).count("Call `edit_file`, edited by a person") == 1
    # The model goes on with what it asked for; its result says what a person changed.
    assert [call.edited for call in store.transcript(session_id).messages[4].calls] == [False]


def test_failures_attachments_and_notes_are_shown_as_such(store, tmp_path):
    pixel = Attachment("image/png", b"png", "shot")
    drawing = Attachment("image/svg+xml", b"<svg onload=x>", "drawing")
    text = page_of(
        store,
        tmp_path,
        *answered("no such file", error_class="file_not_found", attachments=(pixel, drawing)),
        Message("user", "[the user undid your changes]", typed=""),
    )
    page = Page(text)
    assert page.with_class("failed") == ["span"]
    assert page.values("src") == ["data:image/png;base64,cG5n"]
    assert "attached: drawing" in text
    assert "Added for the model" in text
    assert page.values("id") == ["p1"]


def test_a_page_takes_nothing_from_elsewhere(store, tmp_path):
    page = Page(page_of(store, tmp_path, *answered("x")))
    (policy,) = [value for value in page.values("content") if "default-src" in value]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert {tag for tag, _ in page.elements} & {"script", "link", "iframe", "object"} == set()
    assert not page.values("src")


def hostile_messages(url):
    tags = TAGS.format(url=url) + HIDDEN
    answer = f"{tags}\n\n{LINKS.format(url=url, tags=tags)}"
    attachments = (Attachment("image/svg+xml", b"<svg>", tags), Attachment("text/html", b"", tags))
    call = ToolCall("1", tags, {tags: tags})
    result = ToolResult(
        f"{tags}\n+++ x\n@@ {tags}\n+{tags}",
        call_id="1",
        is_error=True,
        error_class=tags,
        metadata={"diff": f"@@ \n+{tags}"},
        attachments=attachments,
    )
    return [
        Message("user", tags),
        Message("assistant", answer, calls=(call,)),
        Message("tool", results=(result,)),
    ]


def test_whatever_was_said_is_text(store, tmp_path):
    text = page_of(store, tmp_path, *hostile_messages("http://evil.example/x"), title=TAGS + HIDDEN)
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "svg", "img", "iframe", "link", "object", "form", "base"}
    assert [tag for tag, _ in page.elements].count("style") == 1
    names = {name for _, attrs in page.elements for name in attrs}
    assert not {name for name in names if name.startswith("on")}
    assert [link for link in page.values("href") if not link.startswith("#")] == [
        "https://ok.example/?a=1&b=2"
    ]
    assert not set("\x1b\x07\u202e\u2066\u200b\x9b") & set(text)
    assert "\\u202eevil" in text


@pytest.mark.needs("chromium")
def test_a_real_browser_runs_and_loads_nothing(store, tmp_path):
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x"
        path = tmp_path / "page.html"
        path.write_text(
            page_of(store, tmp_path, *hostile_messages(url), title=TAGS.format(url=url))
        )
        seen = browse(path, tmp_path / "profile")
        # The browser does run and load what a page lets it.
        bare = tmp_path / "bare.html"
        bare.write_text(f"<title>x</title><img src={url}><script>document.title='OWNED'</script>")
        assert "<title>OWNED</title>" in browse(bare, tmp_path / "profile")
        assert requests == ["/x"]
        server.shutdown()
    assert "OWNED</title>" not in seen
    assert re.search(r"<title>[^<]*script", seen)
    assert "display:none" in seen


def browse(path, profile):
    """Return the document of a page after a browser has opened it."""
    program = shutil.which("chromium")
    command = [program, *FLAGS, *QUIET, f"--user-data-dir={profile}", "--dump-dom"]
    done = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, check=True)
    return done.stdout


def test_the_command_prints_a_page(nanocoder):
    nanocoder("run", "--model", nanocoder.script({"text": "*Hi*\x1b[31m"}), "Say hi")
    done = nanocoder("sessions", "export", "last", "--format", "html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("<!doctype html>\n")
    assert "<em>Hi</em>" in done.stdout
    assert "\x1b" not in done.stdout
    assert "Secrets of known forms" in done.stderr
    wrong = nanocoder("sessions", "export", "last", "--format", "pdf")
    assert (wrong.returncode, "unknown value 'pdf'" in wrong.stderr) == (2, True)
