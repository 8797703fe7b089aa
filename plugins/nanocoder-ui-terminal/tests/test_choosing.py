"""Models and sessions to choose from."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytestmark = [pytest.mark.timeout(90)]
HI = {"text": "Hello there."}
STILL = {"text": "Still here."}
MODELS = ["large", "small", *(f"number-{number}" for number in range(30))]


@pytest.fixture
def server():
    """Serve a list of models as OpenAI's interface does."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"data": [{"id": f"mock-{name}"} for name in MODELS]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}/v1"
        served.shutdown()


@pytest.fixture
def keys(server):
    return {
        "OPENAI_BASE_URL": server,
        "OPENAI_API_KEY": "",
        "ANTHROPIC_API_KEY": "sk-none",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }


def test_the_models_of_every_usable_provider_are_listed_and_completed(chat, keys):
    talk = chat(HI, env=keys).type("/model openai/mock-large").see("Switched to openai/mock-large")
    talk.type("/model").see("To change it: /model PROVIDER/MODEL")
    rows = [line.split(maxsplit=1) for line in talk.text.splitlines()]
    assert ["openai/mock-large", "current"] in rows
    assert ["openai/mock-number-0"] in rows
    assert ["openai/...", "12 more"] in rows
    assert any(row[0] == "anthropic" and "nothing answers" in row[1] for row in rows if row)
    talk.press("/model smal").see("openai/mock-small").press("\t\r").press("\r")
    talk.see("Switched to openai/mock-small")


@pytest.mark.contract("N6")
def test_providers_that_are_not_set_up_are_one_line_and_say_what_they_need_when_asked(chat):
    keys = dict.fromkeys(("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"), "")
    talk = chat(HI, env=keys).type("/model").see("what each needs: /model others")
    assert "Not set up: anthropic, openai, " in talk.text
    assert "current, 1,000,000 tokens" in talk.text
    assert "ANTHROPIC_API_KEY" not in talk.text
    talk.type("/model others").see("set ANTHROPIC_API_KEY")


def test_a_session_is_resumed_by_its_number(chat):
    talk = chat(HI, STILL).type("first words").see("Hello there.").see("1 turn")
    talk.type("/clear").see("Ctrl-D leaves", times=2).type("other words").see("1 turn", times=2)
    talk.type("/clear").see("Ctrl-D leaves", times=3).type("/resume").see("/resume NUMBER")
    listed = [line[:16].rstrip() for line in talk.text.splitlines() if line[1:3] == "  "]
    assert listed == ["1  other words", "2  first words"]
    talk.type("/resume 2").see("first words", times=3).type("more").see("Still here.")
    talk.type("/resume 7").see("No earlier session here fits '7'")


def test_a_session_is_named_and_found_by_its_title(chat, start):
    talk = chat(HI).type("first words").see("Hello there.").see("1 turn")
    talk.type("/name").see("/name TITLE").type("/name The parser").see("named 'The parser'")
    talk.type("/clear").see("Ctrl-D leaves", times=2).type("other").see("1 turn", times=2)
    talk.type("/clear").see("Ctrl-D leaves", times=3).press("/resume ").see("The parser  just now")
    talk.press("\x15").type("/resume nowhere").see("No earlier session here fits 'nowhere'")
    talk.type("/resume PARSER first").see("\u203a first words", times=2)
    assert talk.type("/exit").end() == 0
    listed = start(["sessions", "list", "parser"]).see("The parser")
    assert "other" not in listed.text
