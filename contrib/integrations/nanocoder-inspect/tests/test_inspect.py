"""Inspect evaluates nanocoder: with a scripted model of its own, and with one of nanocoder's."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from inspect_ai import Task
from inspect_ai import eval as evaluate_tasks
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.util import sandbox
from nanocoder_inspect import NanocoderError, nanocoder, report_of

CALL = {"path": "out.txt", "content": "hi\n"}


@scorer(metrics=[accuracy()])
def file_has():
    """Whether out.txt in the sandbox is what the sample asks for."""

    async def score(_state, target):
        text = await sandbox().read_file("out.txt")
        return Score(value="C" if text == f"{target.text}\n" else "I", answer=text)

    return score


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(agent, model):
        samples = [Sample(input="Write hi into out.txt.", target="hi")]
        task = Task(dataset=samples, solver=agent, scorer=file_has(), sandbox="local")
        [log] = evaluate_tasks(task, model=model, display="none", log_dir=str(tmp_path / "logs"))
        assert log.status == "success", log.error
        return log

    return run


@pytest.fixture
def program():
    """The nanocoder of this environment; without it the one that the path has."""
    beside = Path(sys.executable).with_name("nanocoder")
    return str(beside if beside.exists() else shutil.which("nanocoder"))


def test_the_model_of_inspect_is_asked_through_its_bridge(evaluate, program):
    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "write_file", CALL),
        ModelOutput.from_content("mockllm/model", "Done."),
    ]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    log = evaluate(nanocoder(program=program), get_model("mockllm/model", custom_outputs=outputs))
    [sample] = log.samples
    assert log.results.scores[0].metrics["accuracy"].value == 1
    assert [message.role for message in sample.messages] == [
        *("system", "user", "assistant", "tool", "assistant")
    ]
    assert sample.output.completion == "Done."
    report = sample.store["nanocoder"]
    assert (report["stop_reason"], report["files_changed"]) == ("done", ["out.txt"])
    assert log.stats.model_usage["mockllm/model"].input_tokens == 20


def test_a_model_of_nanocoder_may_be_named(evaluate, program, tmp_path):
    script = tmp_path / "script.json"
    turns = [{"calls": [{"name": "write_file", "arguments": CALL}]}, {"text": "Done."}]
    script.write_text(json.dumps({"turns": turns}))
    agent = nanocoder(program=program, model=f"scripted/{script}", port=13_132)
    log = evaluate(agent, get_model("mockllm/model"))
    assert log.results.scores[0].metrics["accuracy"].value == 1
    assert log.samples[0].output.completion == "Done."


def test_what_is_no_report_is_an_error():
    with pytest.raises(NanocoderError, match="ended with 2: there is no model"):
        report_of(2, "", "there is no model\n")
    assert report_of(5, '{"stop_reason": "turn_limit"}', "")["stop_reason"] == "turn_limit"
