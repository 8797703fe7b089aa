"""nanocoder as an agent of Harbor: installed in the task's environment, and run there once."""

import json
import os
import shlex
from typing import Any, Final, Literal, override

from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.agents.options import InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

PLACE: Final = "$HOME/.nanocoder-agent"
REPORT: Final = "nanocoder.json"
ERRORS: Final = "nanocoder.txt"
PACKAGES: Final = "nanocoder-core nanocoder-set-default"
KEYS: Final = (
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENROUTER_API_KEY",
)
"""Variables of this machine that the agent's process gets, if they are set."""
ENDED: Final = "0 1 3 5"
"""Exit codes with which a run has ended: done, failed, in need of a person, at a limit."""


class Options(InstalledAgentOptions):
    """Options of `--agent-kwarg NAME=VALUE`."""

    mode: Literal["plan", "ask", "edits", "auto"] = "auto"
    plugin_set: str = ""
    words: str = ""
    packages: str = PACKAGES


class Nanocoder(BaseInstalledAgent):
    """Runs `nanocoder run`; a model is named as in nanocoder, `provider/model`."""

    options_model = Options
    options: Options

    @staticmethod
    @override
    def name() -> str:
        """Return the name in Harbor's results."""
        return "nanocoder"

    @override
    def get_version_command(self) -> str:
        """Return the command that prints the version."""
        return f"{self._path()} nanocoder --version"

    @override
    def parse_version(self, stdout: str) -> str:
        """Return the number of "nanocoder 1.2.3"."""
        return stdout.rsplit(maxsplit=1)[-1]

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        """Install nanocoder for the agent's user, unless the environment has it."""
        version = f"=={self._version}" if self._version else ""
        there = await environment.exec(command=f"{self._path()} command -v nanocoder")
        if there.return_code == 0:
            return
        await self.ensure_system_dependencies(environment, ("python3", "python_venv", "git"))
        packages = self.options.packages.replace("nanocoder-core", f"nanocoder-core{version}", 1)
        install = f'python3 -m venv "{PLACE}" && "{PLACE}/bin/pip" install -q {packages}'
        await self.exec_as_agent(environment, command=install)

    @override
    @with_prompt_template
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Run nanocoder on the task, and store its report among the agent's logs."""
        words = ["nanocoder", "run", "--mode", self.options.mode, "--output", "json"]
        if self.model_name:
            words += ["--model", self.model_name]
        if self.options.plugin_set:
            words += ["--set", self.options.plugin_set]
        words += [*shlex.split(self.options.words), "-"]
        out, error = (self.environment_logs_dir / name for name in (REPORT, ERRORS))
        source = f"printf %s {shlex.quote(instruction)}"
        run = f"{source} | {shlex.join(words)} > {out} 2> {error}"
        # A run that a limit ended is a result for the verifier. One that the provider ended is
        # not: Harbor reads the error, and may try again.
        judged = f'cat {error} >&2; case " {ENDED} " in *" $code "*) ;; *) exit $code;; esac'
        command = f"{self._path()} {run}; code=$?; {judged}"
        await self.exec_as_agent(environment, command=command, env=self._keys())

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        """Tell Harbor tokens, cost and how the run ended."""
        report = self._report()
        usage = report.get("usage", {})
        cached = usage.get("cache_read_tokens", 0)
        context.n_input_tokens = usage.get("input_tokens", 0) + cached
        context.n_cache_tokens = cached
        context.n_output_tokens = usage.get("output_tokens", 0)
        context.cost_usd = report.get("cost")
        names = ("session_id", "stop_reason", "turns", "files_changed", "denials", "error")
        context.metadata = {name: report[name] for name in names if name in report}

    def _report(self) -> dict[str, Any]:
        try:
            report = json.loads((self.logs_dir / REPORT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return report if isinstance(report, dict) else {}

    def _keys(self) -> dict[str, str]:
        return {name: os.environ[name] for name in KEYS if os.environ.get(name)}

    @staticmethod
    def _path() -> str:
        return f'export PATH="{PLACE}/bin:$PATH";'
