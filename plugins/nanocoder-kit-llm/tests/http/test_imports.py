import subprocess
import sys
import textwrap

HEAVY = {
    "anyio._backends",
    "asyncio",
    "cattrs",
    "click",
    "importlib.metadata",
    "importlib_metadata",
    "pydantic",
    "rich",
    "trio",
}


def modules_after(code):
    """Return the modules that a fresh interpreter has loaded after running *code*."""
    script = textwrap.dedent(code) + "\nimport sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name for name in run.stdout.split() if name}


def test_importing_the_kit_imports_no_http_client():
    loaded = modules_after("import nanocoder_kit_llm.http")
    assert not loaded & {"httpx", "httpcore", "ssl", *HEAVY}


def test_the_patterns_of_written_calls_wait_for_a_reply_that_may_have_one():
    loaded = modules_after(
        """
        from types import SimpleNamespace
        from nanocoder import Finished
        from nanocoder_kit_llm.http import WrittenCalls
        request = SimpleNamespace(tools=(), messages=())
        assert WrittenCalls().take(Finished("Done."), request) == [Finished("Done.")]
        """
    )
    assert not loaded & {"nanocoder_kit_llm.http.text_calls", "json_repair", "hashlib"}


def test_a_first_request_without_tls_loads_nothing_heavy_and_makes_no_tls_context():
    loaded = modules_after(
        """
        import ssl, sys
        from nanocoder import Cancel
        from nanocoder_kit_llm.http import Client
        from nanocoder_testing.server import ScriptedServer, events
        def refuse(*_): raise AssertionError("a TLS context was made")
        ssl.SSLContext.__new__ = refuse
        with ScriptedServer(events(1)) as server:
            client = Client(server.url)
            assert list(client.stream_events("/x", b"{}", Cancel()))
            client.close()
        """
    )
    assert {"httpcore", "httpx"} <= loaded
    assert not loaded & HEAVY
    assert len(loaded) < 300


def test_httpx_is_imported_without_its_command_line_and_whole_for_everybody_else():
    loaded = modules_after(
        """
        import nanocoder_kit_llm.http.transport
        import httpx
        assert httpx.AsyncClient and httpx.main
        """
    )
    assert "httpx._main" not in loaded
    assert not loaded & HEAVY
