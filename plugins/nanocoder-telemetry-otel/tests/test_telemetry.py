"""What a collector receives of real sessions, and what a missing one costs."""

import json
import socket
import time
import urllib.request

import nanocoder_telemetry_otel
import pytest
from nanocoder import Effect, Event, SessionInfo, ToolContext, tool
from nanocoder_telemetry_otel import Settings, conventions, pipeline
from nanocoder_testing import Tools, opened, play

pytestmark = [pytest.mark.timeout(90), pytest.mark.contract("L1")]
TOKEN = "ghp_" + "c" * 36
READ = [("look", {"path": "a.txt"})]
WRITE = [("change", {"path": "b.txt", "content": f"key {TOKEN}"})]


@tool(risk="safe", effects={Effect.READ}, examples=[{"path": "a.txt"}])
def look(ctx: ToolContext, path: str) -> str:
    """Return what is in a file."""
    return ctx.workspace.read_text(path)


@tool(risk="medium", effects={Effect.WRITE}, examples=[{"path": "a.txt", "content": "x"}])
def change(ctx: ToolContext, path: str, content: str) -> str:
    """Put content into a file."""
    ctx.workspace.write_bytes(path, content.encode())
    return "done"


PLUGINS = {"telemetry-otel": nanocoder_telemetry_otel, "acme-tools": Tools(look, change)}


def run(folder, url, *turns, content=False, **options):
    (folder / "a.txt").write_text(f"the token is {TOKEN}\n")
    settings = {"telemetry-otel": Settings(endpoint=url, content=content)}
    prompt = f"what is in a.txt? {TOKEN}"
    options = {"plugins": PLUGINS, "settings": settings, "prompt": prompt, **options}
    return play(folder, turns, **options)


def failures(events):
    return [event for event in events if event.kind == "telemetry.failed"]


def test_a_session_is_a_tree_of_runs_turns_requests_and_calls(tmp_path, collector):
    played = run(tmp_path, collector.url, READ, WRITE, "Done.")
    assert not failures(played.events)
    call = [("policy", [])]
    asked = [("policy", []), ("approval", [])]
    assert collector.tree() == [
        (
            "session nanocoder",
            [
                (
                    "invoke_agent nanocoder",
                    [
                        ("turn 1", [("chat play", []), ("execute_tool look", call)]),
                        ("turn 2", [("chat play", []), ("execute_tool change", asked)]),
                        ("turn 3", [("chat play", [])]),
                    ],
                )
            ],
        )
    ]
    for span in collector.spans:
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano


def test_spans_have_the_attributes_of_the_conventions(tmp_path, collector):
    run(tmp_path, collector.url, READ, WRITE, "Done.")
    spans = {span.name: collector.attributes(span) for span in collector.spans}
    assert spans["chat play"]["gen_ai.operation.name"] == "chat"
    assert spans["chat play"]["gen_ai.provider.name"] == "script"
    assert spans["chat play"]["gen_ai.request.model"] == "play"
    assert spans["chat play"]["gen_ai.usage.input_tokens"] >= 0
    read = spans["execute_tool look"]
    assert read["gen_ai.tool.name"] == "look"
    assert (read["nanocoder.plugin"], read["nanocoder.tool.status"]) == ("acme-tools", "ok")
    write = spans["execute_tool change"]
    assert write["error.type"] == "approval_needed"
    assert spans["invoke_agent nanocoder"]["nanocoder.stop_reason"] == "approval_needed"
    judged = [collector.attributes(span) for span in collector.spans if span.name == "policy"]
    assert {each["nanocoder.policy.decision"] for each in judged} == {"allow", "ask"}
    failed = [span for span in collector.spans if span.status.code]
    assert [span.name for span in failed] == ["execute_tool change"]


def test_names_of_the_conventions_are_those_of_their_package():
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
    from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
    from opentelemetry.semconv.attributes import error_attributes

    known = {
        value
        for module in (gen_ai_attributes, gen_ai_metrics, error_attributes)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    ours = {
        value
        for name, value in vars(conventions).items()
        if name.isupper() and value.startswith(("gen_ai.", "error."))
    }
    assert len(ours) > 15
    assert ours <= known, ours - known


def test_content_is_sent_only_when_asked_for_and_never_a_secret(tmp_path, collector):
    run(tmp_path, collector.url, READ, "An answer.")
    silent = b"".join(collector.bodies)
    assert collector.bodies
    for text in (b"what is in", b"a.txt", b"the token is", b"An answer", TOKEN.encode()):
        assert text not in silent
    run(tmp_path, collector.url, READ, "An answer.", content=True)
    told = b"".join(collector.bodies)
    for text in (b"what is in", b"a.txt", b"the token is", b"An answer"):
        assert text in told
    assert TOKEN.encode() not in told


@pytest.mark.parametrize("name", [TOKEN, "N" * 200_000])
def test_the_name_of_a_tool_that_does_not_exist_is_not_sent(tmp_path, collector, name):
    run(tmp_path, collector.url, [(name, {})], READ, "Done.")
    assert name.encode() not in b"".join(collector.bodies)
    calls = [span for span in collector.spans if span.name.startswith("execute_tool")]
    assert [span.name for span in calls] == ["execute_tool unknown", "execute_tool look"]
    labels = [collector.attributes(span)["gen_ai.tool.name"] for span in calls]
    assert labels == ["unknown", "look"]
    assert collector.attributes(calls[0])["error.type"] == "unknown_tool"
    measured = [collector.attributes(each) for each in collector.points["nanocoder.tool.duration"]]
    assert {each["gen_ai.tool.name"] for each in measured} == {"unknown", "look"}


@pytest.mark.contract("NT-56")
def test_tokens_money_and_times_are_measured_by_model_tool_and_plugin(tmp_path, collector):
    run(tmp_path, collector.url, READ, WRITE, "Done.")
    points = collector.points
    tokens = [collector.attributes(point) for point in points["gen_ai.client.token.usage"]]
    assert {each["gen_ai.token.type"] for each in tokens} == {"input", "output"}
    assert {each["gen_ai.request.model"] for each in tokens} == {"play"}
    [requests] = points["gen_ai.client.operation.duration"]
    assert requests.count == 3
    calls = [collector.attributes(point) for point in points["nanocoder.tool.duration"]]
    assert {(each["gen_ai.tool.name"], each["nanocoder.plugin"]) for each in calls} == {
        ("look", "acme-tools"),
        ("change", "acme-tools"),
    }
    outputs = points["nanocoder.tool.output.tokens"]
    assert all(point.as_int > 0 for point in outputs)
    [approvals] = points["nanocoder.approvals"]
    assert collector.attributes(approvals) == {"nanocoder.approval.outcome": "denied"}


@pytest.mark.contract("NT-56")
def test_the_cost_of_a_run_is_divided_over_its_tools_and_sums_up(nanocoder, collector):
    (nanocoder.cwd / "a.txt").write_text("x\n")
    read = {"name": "read_file", "arguments": {"path": "a.txt"}}
    write = {"name": "write_file", "arguments": {"path": "b.txt", "content": "x"}}
    model = nanocoder.script(
        {"calls": [read, write], "usage": {"input_tokens": 90, "output_tokens": 10, "cost": 0.3}},
        {"text": "Done.", "usage": {"input_tokens": 90, "output_tokens": 10, "cost": 0.1}},
    )
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    done = nanocoder("run", "--mode", "auto", "--model", model, "go", env=environment)
    assert done.returncode == 0, done.stderr
    costs = {}
    for point in collector.points["nanocoder.tool.cost"]:
        attributes = collector.attributes(point)
        assert attributes["gen_ai.provider.name"] == "scripted"
        costs[attributes["gen_ai.tool.name"], attributes["nanocoder.plugin"]] = point.as_double
    assert costs == pytest.approx(
        {("read_file", "tool-read"): 0.1, ("write_file", "tool-write"): 0.1, ("none", ""): 0.2}
    )
    [total] = collector.points["nanocoder.cost"]
    assert sum(costs.values()) == pytest.approx(total.as_double)


def test_a_refusal_is_a_log_record_without_what_a_person_wrote(tmp_path, collector):
    run(tmp_path, collector.url, WRITE, "Done.")
    records = {record.body.string_value: record for record in collector.records}
    assert {"session.started", "call.denied", "run.finished", "session.finished"} <= set(records)
    denied = records["call.denied"]
    assert denied.severity_text == "WARN"
    assert collector.attributes(denied)["error.type"] == "approval_needed"


def test_a_sub_agent_is_below_the_call_that_started_it(nanocoder, collector):
    (nanocoder.cwd / "a.txt").write_text("one\n")
    inner = nanocoder.home / "inner.json"
    read = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
    inner.write_text(json.dumps({"turns": [read, {"text": "One."}]}))
    config = nanocoder.home / ".config/nanocoder/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[plugins.tool-task]\nmodel = "scripted/{inner}"\n')
    arguments = {"description": "count", "prompt": "How many lines?"}
    calls = [{"name": "task", "arguments": arguments}]
    outer = nanocoder.script({"calls": calls}, {"text": "Done."})
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    done = nanocoder("run", "--mode", "auto", "--model", outer, "go", env=environment)
    assert done.returncode == 0, done.stderr
    assert {span.trace_id.hex() for span in collector.spans} == {"0af7651916cd43dd8448eb211c80319c"}
    spans = {span.span_id: span for span in collector.spans}
    [root] = [span for span in spans.values() if span.name == "session nanocoder"]
    assert root.parent_span_id.hex() == "b7ad6b7169203331"
    [task] = [span for span in spans.values() if span.name == "execute_tool task"]
    sessions = [span for span in spans.values() if span.name.startswith("session ")]
    [inside] = [span for span in sessions if span != root]
    assert inside.parent_span_id == task.span_id
    [read] = [span for span in spans.values() if span.name == "execute_tool read_file"]
    while read.span_id != inside.span_id:
        read = spans[read.parent_span_id]


@pytest.fixture
def gone():
    """The address of a collector that has ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_a_call_says_at_its_end_that_nothing_was_sent_and_the_doctor_does(nanocoder, gone):
    (nanocoder.cwd / "a.txt").write_text("hello")
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": gone}
    done = nanocoder("call", "read_file", '{"path": "a.txt"}', env=environment)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if gone in line]
    assert len(lines) == 1, done.stderr
    assert f"the collector at {gone} takes no telemetry; what was not sent is lost" in lines[0]
    done = nanocoder("doctor", "--output", "json", env=environment)
    rows = {row["check"]: row for row in json.loads(done.stdout)["checks"]}
    assert rows["telemetry"]["status"] == "wrong"
    assert f"no collector answers at {gone}" in rows["telemetry"]["detail"]


def test_the_doctor_sees_a_collector_that_listens(nanocoder, collector):
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    rows = json.loads(nanocoder("doctor", "--output", "json", env=environment).stdout)["checks"]
    assert [row["status"] for row in rows if row["check"] == "telemetry"] == ["ok"]


def test_a_collector_that_is_gone_is_said_once_and_costs_nothing(nanocoder, gone):
    url = gone
    script = nanocoder.script({"text": "Done."})
    done = nanocoder("run", "--model", script, "go", env={"OTEL_EXPORTER_OTLP_ENDPOINT": url})
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert [gone in line for line in done.stderr.splitlines()].count(True) == 1, done.stderr
    assert "HTTPConnection" not in done.stderr


def test_a_collector_that_never_answers_does_not_hold_up_the_end(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        played = run(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}", READ, "Done.")
        took = time.monotonic() - started
    assert played.report["stop_reason"] == "done"
    assert took < pipeline.CLOSE_S + 10


def test_a_full_queue_drops_and_counts(tmp_path, monkeypatch, collector):
    monkeypatch.setattr(pipeline, "QUEUE_EVENTS", 5)
    session = SessionInfo("s", tmp_path)
    line = pipeline.Pipeline(Settings(endpoint=collector.url))
    for number in range(2_000):
        line.put(Event("run.started", {"prompt": str(number)}), session)
    assert line.dropped > 1_000
    deadline = time.monotonic() + 40
    while line._items.full() and time.monotonic() < deadline:
        time.sleep(0.01)
    line.close()
    [lost] = collector.points["nanocoder.telemetry.dropped"]
    assert lost.as_int == line.dropped


def test_sessions_at_once_share_one_way_and_the_last_one_ends_it(tmp_path, collector):
    settings = Settings(endpoint=collector.url)
    first, second = pipeline.lease(settings), pipeline.lease(settings)
    assert first.put == second.put
    first.close()
    assert settings in pipeline._shared
    second.close()
    assert settings not in pipeline._shared


def test_prometheus_reads_the_metrics_while_a_session_is_open(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "a.txt").write_text("x\n")
    settings = {"telemetry-otel": Settings(prometheus_port=port)}
    turns = [READ, "Done."]
    with opened(tmp_path, turns, plugins=PLUGINS, settings=settings) as (session, _):
        list(session.run("go"))
        text, deadline = "", time.monotonic() + 20
        while "nanocoder_tool_duration" not in text and time.monotonic() < deadline:
            time.sleep(0.1)
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
                    text = reply.read().decode()
            except OSError:
                continue
    assert 'gen_ai_tool_name="look"' in text
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"endpoint": "collector:4318"}, "is not the address of a collector"),
        ({"signals": ("trace",)}, "did you mean 'traces'?"),
        ({"prometheus_port": 99_999}, "is no port"),
    ],
)
def test_wrong_settings_say_what_is_right(settings, message):
    with pytest.raises(ValueError, match=message):
        Settings(**settings)


def test_a_project_cannot_send_telemetry_elsewhere(nanocoder, collector):
    folder = nanocoder.cwd / ".nanocoder"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'[plugins.telemetry-otel]\nendpoint = "{collector.url}"\ncontent = true\n'
    )
    script = nanocoder.script({"text": "Done."})
    nanocoder("run", "--model", script, "go")
    assert not collector.bodies


def test_what_is_off_loads_no_sdk(nanocoder):
    script = nanocoder.script({"text": "Done."})
    done = nanocoder("run", "--model", script, "go", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert "nanocoder.session.loop" in done.stderr
    assert "opentelemetry" not in done.stderr
