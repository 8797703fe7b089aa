"""Let nanocoder and other agents do the same tasks with one model behind llama.cpp's server.

    python tests/bench/peers.py --weights FILE --results DIR --tools DIR
                                [--everyday N] [--humaneval N] [--limit S] [AGENT ...]

An agent is `nanocoder`, `aider`, `llm` or `mini-swe-agent`. Each peer needs an environment of its
own, because their dependencies exclude each other: `DIR/aider/bin/aider` and so on. Each agent has
the settings that its own pages advise for a local model, and works in a sandbox (bubblewrap) where
it can change the task's folder alone. Tokens are counted by the server, for all alike.

Tasks are taken evenly from the suites: every fourth one, say. `DIR/AGENT/results.jsonl` has a line
for each, as `nanocoder eval` writes it, so `nanocoder eval compare` shows two agents beside each
other. What has a result is passed over, so several sittings in one DIR add up, also those with
other numbers of tasks. At the end, and alone with `--table`, the figures of all sittings are
printed, with the number of tasks n in each cell.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import frozen
from nanocoder_files import replace_file
from nanocoder_kit_batch.suites import SuiteTask

SERVER = Path(__file__).parents[1] / "e2e/llama_server.py"
MODEL: Final = "qwen2.5-coder-1.5b"
CONTEXT: Final = 8_192
STEPS: Final = 12
"""So many requests an agent may send for a task, where it can be told."""
COUNTERS: Final = {
    "input_tokens": "llamacpp:prompt_tokens_total",
    "output_tokens": "llamacpp:tokens_predicted_total",
}
FUNCTIONS: Final = '''
import pathlib, subprocess

def read_file(path: str) -> str:
    """Return the content of a file."""
    return pathlib.Path(path).read_text()

def write_file(path: str, content: str) -> str:
    """Write content into a file."""
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(content)
    return "written"

def run_command(command: str) -> str:
    """Run a command of the shell and return what it prints."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr
'''
"""The tools of `llm`, which has none of its own for files."""


@frozen
class Place:
    """Where an agent works: the task's *folder*, a *home* of its own, the server's *address*."""

    folder: Path
    home: Path
    address: str
    tools: Path

    def program(self, environment: str, name: str) -> str:
        """Return the path of a peer's program."""
        return str(self.tools / environment / "bin" / name)


Command = tuple[list[str], dict[str, str]]


def nanocoder(place: Place, prompt: str) -> Command:
    """Return the command of this repository's nanocoder, with every plugin."""
    program = str(Path(sys.executable).with_name("nanocoder"))
    words = [program, "run", "--mode", "auto", "--max-turns", str(STEPS), "--model"]
    return [*words, f"llamacpp/{MODEL}", prompt], {"LLAMACPP_BASE_URL": f"{place.address}/v1"}


def aider(place: Place, prompt: str) -> Command:
    """Return aider's command; all files of the folder are in its chat."""
    files = [str(path) for path in sorted(place.folder.rglob("*")) if path.is_file()]
    quiet = ["--no-git", "--no-pretty", "--no-check-update", "--no-show-model-warnings"]
    quiet += ["--analytics-disable", "--no-show-release-notes", "--yes-always", "--no-detect-urls"]
    words = [place.program("aider", "aider"), *quiet, "--model", f"openai/{MODEL}"]
    keys = {"OPENAI_API_BASE": f"{place.address}/v1", "OPENAI_API_KEY": "none"}
    return [*words, "--message", prompt, *files], keys


def llm(place: Place, prompt: str) -> Command:
    """Return the command of llm, with three functions as tools."""
    settings = place.home / "llm"
    settings.mkdir(exist_ok=True)
    model = f"- model_id: local\n  model_name: {MODEL}\n  api_base: {place.address}/v1\n"
    text = f"{model}  api_key_name: local\n  supports_tools: true\n"
    (settings / "extra-openai-models.yaml").write_text(text)
    (settings / "keys.json").write_text('{"local": "none"}')
    (settings / "functions.py").write_text(FUNCTIONS)
    words = [place.program("llm", "llm"), "-m", "local", "--no-stream", "--no-log"]
    words += ["-o", "temperature", "0", "--chain-limit", str(STEPS)]
    words += ["--functions", str(settings / "functions.py"), prompt]
    return words, {"LLM_USER_PATH": str(settings)}


def mini_swe_agent(place: Place, prompt: str) -> Command:
    """Return the command of mini-swe-agent, with its form for models without tool calls."""
    settings = [
        "mini_textbased.yaml",
        f"model.model_kwargs.api_base={place.address}/v1",
        "model.model_kwargs.api_key=none",
        "model.model_kwargs.temperature=0",
        "model.cost_tracking=ignore_errors",
        f"agent.step_limit={STEPS}",
    ]
    words = [place.program("mini-swe-agent", "mini"), "-y", "--exit-immediately", "-t", prompt]
    words += ["-m", f"openai/{MODEL}", "-o", str(place.home / "run.json")]
    for setting in settings:
        words += ["-c", setting]
    home = {"MSWEA_GLOBAL_CONFIG_DIR": str(place.home), "MSWEA_CONFIGURED": "true"}
    return words, {**home, "MSWEA_COST_TRACKING": "ignore_errors"}


def answer_of_mini(place: Place, printed: str) -> str:
    """Return the last words of mini-swe-agent and what it handed in."""
    try:
        run = json.loads((place.home / "run.json").read_text())
    except (OSError, ValueError):
        return printed
    words = [str(each["content"]) for each in run["messages"] if each.get("role") == "assistant"]
    return "\n".join([*words[-1:], str(run["info"].get("submission", ""))])


AGENTS: Final[dict[str, Callable[[Place, str], Command]]] = {
    "nanocoder": nanocoder,
    "aider": aider,
    "llm": llm,
    "mini-swe-agent": mini_swe_agent,
}


def inside(place: Place, words: Sequence[str]) -> list[str]:
    """Return a command that can change nothing but the task's folder and its own home."""
    sandbox = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in (place.folder, place.home):
        sandbox += ["--bind", str(path), str(path)]
    return [*sandbox, "--unshare-pid", "--die-with-parent", "--chdir", str(place.folder), *words]


def work(agent: str, place: Place, prompt: str, limit_s: float) -> tuple[str, str]:
    """Let an agent do one task; return its answer, and why it ended."""
    words, variables = AGENTS[agent](place, prompt)
    folders = {"HOME": str(place.home), "TMPDIR": str(place.home)}
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **folders, **variables}
    try:
        done = subprocess.run(
            inside(place, words),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", "time_limit"
    (place.home / "output.txt").write_text(done.stdout + done.stderr)
    answer = answer_of_mini(place, done.stdout) if agent == "mini-swe-agent" else done.stdout
    return answer, "done" if done.returncode == 0 else f"exit code {done.returncode}"


def is_solved(task: SuiteTask, place: Place, answer: str) -> bool:
    """Run the task's check in the sandbox; it reads the answer from its environment."""
    checked = subprocess.run(
        inside(place, ["sh", "-c", task.command]),
        env={"PATH": os.environ["PATH"], "NANOCODER_ANSWER": answer[:16_000].replace("\0", "")},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return checked.returncode == 0


def counted(address: str) -> dict[str, int]:
    """Return how many tokens the server has read and written so far."""
    with urllib.request.urlopen(f"{address}/metrics") as reply:
        lines = reply.read().decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: int(float(values[counter])) for name, counter in COUNTERS.items()}


def attempt(agent: str, name: str, task: SuiteTask, address: str, options: Any) -> dict[str, Any]:
    """Let an agent do one task in a new folder; return what is known of it."""
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch:
        place = Place(Path(scratch, "work"), Path(scratch, "home"), address, options.tools)
        place.home.mkdir()
        task.lay_out(place.folder)
        before, began = counted(address), time.monotonic()
        answer, ended = work(agent, place, task.prompt, options.limit)
        seconds, after = time.monotonic() - began, counted(address)
        return {
            "id": f"{name}#1",
            "key": f"{name}-{task.digest}",
            "stop_reason": "done" if ended == "done" else "failed",
            "checked": is_solved(task, place, answer),
            "usage": {each: after[each] - before[each] for each in COUNTERS},
            "cost": None,
            "files_changed": [],
            "error": None if ended == "done" else {"class": ended, "message": ended},
            "seconds": round(seconds, 1),
            "model": f"{agent} with {MODEL}",
            "set": "",
            "answer": answer[-500:],
        }


def tasks_of(suite: str, number: int) -> Iterator[tuple[str, SuiteTask]]:
    """Yield so many tasks, evenly taken from a suite."""
    module = __import__(f"nanocoder_eval_{suite}")
    (resource,) = module.nanocoder_resources()
    every = resource.open(None, None)
    for place in range(number):
        task = every[place * len(every) // number]
        yield f"{suite}/{task.name}", task


@contextmanager
def served(weights: Path, threads: int) -> Iterator[str]:
    """Yield the address of a server with the model."""
    command = [sys.executable, str(SERVER), str(weights), str(CONTEXT), str(threads)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, **pipes) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def results_of(folder: Path) -> list[dict[str, Any]]:
    """Return the results of one agent; a line that a kill cut off is left out."""
    path = folder / "results.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def table(results: Path) -> str:
    """Return the figures of all agents with results, as a table with a row for each suite."""
    lines = ["| agent | suite | solved | tokens a task | seconds a task |", "|---|---|---|---|---|"]
    for folder in sorted(path.parent for path in results.glob("*/results.jsonl")):
        rows = results_of(folder)
        for suite in sorted({row["id"].partition("/")[0] for row in rows}):
            own = [row for row in rows if row["id"].startswith(f"{suite}/")]
            lines += [_row(folder.name, suite, own)]
    return "\n".join(lines)


def _row(agent: str, suite: str, rows: Sequence[dict[str, Any]]) -> str:
    number = len(rows)
    tokens = sum(sum(row["usage"].values()) for row in rows) / number
    seconds = sum(row["seconds"] for row in rows) / number
    solved = sum(bool(row["checked"]) for row in rows)
    cells = [
        f"{solved} of {number}",
        f"{tokens:,.0f} (n = {number})",
        f"{seconds:.0f} (n = {number})",
    ]
    return f"| {' | '.join([agent, suite, *cells])} |"


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*", default=[*AGENTS], metavar="AGENT")
    parser.add_argument("--weights", type=Path, help="the model, a GGUF file")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--tools", type=Path, help="the peers' environments")
    parser.add_argument("--table", action="store_true", help="only print what is there")
    parser.add_argument("--everyday", type=int, default=40)
    parser.add_argument("--humaneval", type=int, default=164)
    parser.add_argument("--threads", type=int, default=2, help="of the server")
    parser.add_argument("--limit", type=float, default=120, help="seconds for a task")
    options = parser.parse_args()
    if options.table:
        print(table(options.results))
        return
    if options.weights is None or options.tools is None:
        parser.error("--weights and --tools are needed for new results")
    options.tools = options.tools.absolute()
    tasks = [*tasks_of("everyday", options.everyday), *tasks_of("humaneval", options.humaneval)]
    with served(options.weights, options.threads) as address:
        for name, task in tasks:  # task by task, so that an early end has the same for all
            for agent in options.agents:
                keep(options.results / agent, agent, name, task, address, options)
    print(table(options.results))


def keep(folder: Path, agent: str, name: str, task: SuiteTask, address: str, options: Any) -> None:
    """Do one task that has no result yet, and keep its line."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = results_of(folder)
    if any(row["id"] == f"{name}#1" for row in rows):
        return
    result = attempt(agent, name, task, address, options)
    # Anew, and in one step: a line that a kill cut off does not stay in the file.
    lines = "".join(json.dumps(row) + "\n" for row in [*rows, result])
    replace_file(folder / "results.jsonl", lines.encode())
    mark = "solved" if result["checked"] else "-"
    tokens = sum(result["usage"].values())
    print(f"{name:34} {agent:15} {mark:7} {tokens:6} tokens {result['seconds']:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
