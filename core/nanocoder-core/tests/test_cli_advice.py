"""What a person reads when something is wrong: what it is, who said so, and what to do now."""

import json

import pytest
from nanocoder import Plugins, ProviderError, ProviderSpec, hookimpl
from nanocoder.session.models import first_usable
from nanocoder_testing import Scripted

pytestmark = pytest.mark.timeout(60)


def configured(nanocoder, text):
    path = nanocoder.home / ".config/nanocoder/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# A model that there is not


@pytest.mark.parametrize("command", [("run", "go"), ("doctor",), ("models",)])
def test_a_refused_model_is_blamed_on_the_variable_that_names_it(nanocoder, command):
    done = nanocoder(*command, env={"NANOCODER_MODEL": "bad"})
    said = done.stdout + done.stderr
    assert "there is no provider 'bad' (NANOCODER_MODEL 'bad')" in said
    assert "A model is written PROVIDER/MODEL. Providers: " in said
    assert "--model 'bad'" not in said


def test_a_refused_model_is_blamed_on_the_line_of_the_file_or_on_the_flag(nanocoder):
    path = configured(nanocoder, '\nmodel = "zork/x"\n')
    done = nanocoder("run", "go")
    assert done.returncode == 2
    assert f"no provider 'zork' (model 'zork/x' in {path}:2)" in done.stderr
    assert "install" not in done.stderr, "the name would be made of a slip, and anybody may own it"
    done = nanocoder("run", "go", "--model", "zonk/x", env={"NANOCODER_MODEL": "bad"})
    assert "no provider 'zonk' (--model 'zonk/x')" in done.stderr


@pytest.mark.parametrize(
    ("model", "setting"),
    [
        ("lm-studio/llama3", "OPENAI_BASE_URL=http://localhost:1234/v1"),
        ("LM-Studio/llama3", "OPENAI_BASE_URL=http://localhost:1234/v1"),
        ("litellm/llama3", "OPENAI_BASE_URL=http://localhost:4000/v1"),
    ],
)
def test_a_server_that_a_provider_talks_to_is_no_provider_and_what_to_set_is_said(
    nanocoder, model, setting
):
    done = nanocoder("run", "go", "--model", model)
    assert done.returncode == 2
    assert f"set {setting} and use --model openai/llama3" in done.stderr
    assert "install" not in done.stderr


@pytest.mark.parametrize("model", ["foo/x", "provider-foo/x", "gemini2/pro"])
def test_no_package_is_named_after_a_slip(nanocoder, model):
    done = nanocoder("run", "go", "--model", model)
    assert done.returncode == 2
    assert "install" not in done.stderr


def test_without_a_model_the_way_to_one_is_a_command_that_can_be_typed():
    with pytest.raises(ProviderError) as caught:
        first_usable(Plugins())
    words = " ".join(str(caught.value).split())
    assert "nanocoder plugins install provider-local (then --model local" in words
    assert "in a clone: uv run --extra local nanocoder --model local" in words


@pytest.mark.contract("NT-64")
def test_a_key_in_a_file_makes_its_provider_the_automatic_choice(monkeypatch):
    class Acme:
        @hookimpl
        def nanocoder_providers(self):
            variables = ("ACME_KEY", "OTHER_KEY")
            return [ProviderSpec("acme", Scripted, default_model="m", key_variables=variables)]

    plugins = Plugins()
    plugins.add(Acme(), "acme")
    for variable in ("ACME_KEY", "OTHER_KEY", "ACME_KEY_FILE", "OTHER_KEY_FILE"):
        monkeypatch.setenv(variable, "x")
        assert str(first_usable(plugins)) == "acme/m"
        monkeypatch.setenv(variable, "")
        with pytest.raises(ProviderError):
            first_usable(plugins)


def test_the_ways_to_a_model_fit_a_small_terminal_and_leave_out_what_is_for_tests(nanocoder):
    configured(nanocoder, '[plugins]\ndisable = ["provider-local"]\n')
    done = nanocoder("run", "go")
    lines = done.stderr.splitlines()
    assert "No model is configured" in done.stderr
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 80
    assert "scripted" not in done.stderr
    assert "set ANTHROPIC_API_KEY, OPENAI_API_KEY, " in done.stderr
    assert "start ollama, " in done.stderr


# A prompt without quotes


@pytest.mark.parametrize(
    "words", [("run", "fix", "the", "bug"), ("fix", "the", "bug"), ("run", "fix", "the bug")]
)
def test_a_prompt_in_several_words_is_shown_as_it_should_be_quoted(nanocoder, words):
    done = nanocoder(*words)
    assert done.returncode == 2
    assert "nanocoder run 'fix the bug'" in done.stderr


def test_a_misspelt_option_is_named_rather_than_the_word_before_it(nanocoder):
    done = nanocoder("run", "fix", "the", "--modle", "x")
    assert "unknown argument '--modle'; did you mean '--model' or '--mode'" in done.stderr


@pytest.mark.parametrize("words", [("--modell", "x"), ("--mode", "ask", "--modell", "x", "tools")])
def test_a_misspelt_option_before_the_command_is_named_rather_than_its_value(nanocoder, words):
    done = nanocoder(*words)
    assert done.returncode == 2
    assert "unknown argument '--modell'; did you mean '--model'" in done.stderr


# The configuration


def test_where_says_what_of_the_folder_s_file_does_not_count(nanocoder):
    folder = nanocoder.cwd / ".nanocoder"
    folder.mkdir()
    (folder / "config.toml").write_text('mode = "auto"\nmax_turns = 900\n')
    done = nanocoder("config", "where", "mode")
    assert done.stdout == 'mode = "ask" (default)\n'
    assert "config.toml:1: mode: this folder is not trusted" in done.stderr
    assert "nanocoder config trust" in done.stderr
    assert "max_turns" not in done.stderr


def test_where_shows_the_value_beside_the_place(nanocoder):
    assert nanocoder("config", "where", "mode").stdout == 'mode = "ask" (default)\n'
    path = configured(nanocoder, "[plugins.tool-gone]\nx = 1\n")
    done = nanocoder("config", "where", "plugins.tool-gone.x")
    assert done.stdout == f"plugins.tool-gone.x ({path}:2)\n"
    done = nanocoder("config", "where", "mode", "--output", "json")
    assert json.loads(done.stdout) == {"key": "mode", "origin": "default", "value": "ask"}


@pytest.mark.parametrize("home", ["/proc/nope", "file"])
def test_the_doctor_tries_to_write_where_things_are_kept(nanocoder, home):
    (nanocoder.home / "file").touch()
    done = nanocoder("doctor", env={"HOME": str(nanocoder.home / home)})
    assert "All is well" not in done.stdout
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    for name in ("sessions", "cache", "settings"):
        assert rows[name].split()[1] == "note"
        assert "cannot be written: " in rows[name]


def test_the_doctor_leaves_nothing_behind(nanocoder):
    nanocoder("tools")  # any start notes which plugins there are
    before = sorted(nanocoder.home.rglob("*"))
    assert "cannot be written" not in nanocoder("doctor").stdout
    assert sorted(nanocoder.home.rglob("*")) == before


# A tool that is not on offer


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('[tools]\ndisable = ["grep"]', "tools.disable switches it off (nanocoder config where"),
        ('[tools.rename]\ngrep = "find"', "tools.rename calls it 'find'"),
        (
            '[plugins]\ndisable = ["tool-grep"]',
            "the plugin 'tool-grep' has it, but plugins.disable names it",
        ),
        (
            '[tools.owner]\ngrep = "tool-read"',
            "tool 'grep' is offered by tool-grep and not by tool-read, its",
        ),
    ],
)
def test_a_tool_that_is_installed_and_not_offered_is_called_so_with_the_reason(
    nanocoder, config, said
):
    configured(nanocoder, config)
    done = nanocoder("call", "grep", '{"pattern": "x"}')
    assert done.returncode == 1
    assert f"Unknown tool: grep; {said}" in done.stderr
    assert "installed or known has it" not in done.stderr


def test_a_dialect_that_is_switched_off_is_called_so(nanocoder):
    configured(nanocoder, '[plugins]\ndisable = ["dialect-nano"]\n')
    for words in (("tools",), ("run", "go", "--model", nanocoder.script())):
        done = nanocoder(*words, "--dialect", "nano")
        assert done.returncode == 2
        said = "there is no dialect 'nano': the plugin 'dialect-nano' has it, but plugins.disable"
        assert said in done.stderr


def test_a_tool_that_no_package_brings_is_called_unknown(nanocoder):
    done = nanocoder("call", "nosuch")
    assert "Unknown tool: nosuch. Tools: " in done.stderr
    assert "no plugin that is installed or known has it; `nanocoder tools` lists" in done.stderr


def test_what_a_set_leaves_out_is_not_called_missing(nanocoder):
    done = nanocoder("run", "--set", "minimal", "--model", nanocoder.script(), "go")
    assert done.returncode == 2
    assert "the plugin 'provider-scripted' has it, but it does not belong to the" in done.stderr


@pytest.mark.contract("I18")
@pytest.mark.contract("J10")
def test_a_set_may_be_chosen_for_every_command(nanocoder):
    for words in (["--set", "minimal", "tools"], ["--set", "minimal", "plugins", "list"]):
        done = nanocoder(*words)
        assert done.returncode == 0
        assert "tool-bash" in done.stdout
        assert "tool-glob" not in done.stdout
    done = nanocoder("call", "--set", "minimal", "glob", '{"pattern": "*"}')
    assert "Unknown tool: glob; the plugin 'tool-glob' has it, but it does not" in done.stderr
    assert "the plugin 'ui-terminal' has it" in nanocoder("--set", "minimal").stderr
    assert "there is no set 'minimum'" in nanocoder("--set", "minimum", "doctor").stdout
    # An unset variable of a script must not mean all plugins.
    assert "there is no set ''" in nanocoder("--set", "", "tools").stderr
    behind = nanocoder("tools", "--set", "minimal")
    assert "--set stands before the command: nanocoder --set" in behind.stderr


# Files and values that are not what they should be


def test_a_table_by_a_wrong_name_is_told_with_its_line_and_the_right_one(nanocoder):
    path = configured(nanocoder, 'mode = "plan"\n[plugin.tool-grep]\ntime_limit_s = 9.0\n')
    done = nanocoder("tools")
    assert done.returncode == 2
    assert f"{path}:2: plugin: unknown key; did you mean 'plugins'?" in done.stderr


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("gone.toml", "config.toml is a broken symbolic link"),
        ("config.toml", "Too many levels of symbolic"),
    ],
)
def test_a_configuration_that_is_a_link_to_nothing_is_not_taken_for_none(nanocoder, target, said):
    path = configured(nanocoder, "")
    path.unlink()
    path.symlink_to(target)
    done = nanocoder("tools")
    assert done.returncode == 2
    assert said in done.stderr


def test_a_file_in_the_place_of_the_configurations_folder_is_told(nanocoder):
    folder = configured(nanocoder, "").parent
    folder.rename(folder.with_name("elsewhere"))
    folder.touch()
    done = nanocoder("tools")
    assert done.returncode == 2
    assert f"{folder} is not a directory" in done.stderr


def test_settings_that_are_wrong_end_a_call_like_every_other_command(nanocoder):
    path = configured(nanocoder, '[plugins.tool-grep]\ntime_limit_s = "soon"\n')
    done = nanocoder("call", "grep", '{"pattern": "x"}')
    assert done.returncode == 2
    assert f"{path}:2: plugins.tool-grep.time_limit_s: expected" in done.stderr


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        (("tools",), {"NANOCODER_MAX_TURNS": "-1"}, "MAX_TURNS: expected a whole number of at le"),
        (("run", "go", "--max-turns", "x"), {}, "--max-turns: expected a whole number, got 'x'"),
        (("run", "go", "--cwd", ""), {}, "--cwd is empty"),
        (("run", "go", "--max-cost", "nan"), {}, "--max-cost: expected a number of at least 0"),
        (("run", "go", "--max-second", "1"), {}, "did you mean '--max-seconds'"),
        (("tools", "--outpu", "json"), {}, "did you mean '--output'"),
        (("run", "go", "--json"), {}, "did you mean '--output'?"),
        (("run", "go", "--yolo"), {}, "did you mean '--mode'?"),
        (("-m", "x/y", "run", "go"), {}, "did you mean '--model'?"),
        (("plugins", "list", "--outpu", "json"), {}, "did you mean '--output'"),
        (("--mod", "x", "run", "go"), {}, "did you mean '--mode"),
        (("tools", "--dialect", "nan"), {}, "did you mean 'nano'? Installed: "),
        (("help",), {}, "to see the commands: nanocoder --help"),
    ],
)
def test_2_says_what_is_expected(nanocoder, words, variables, said):
    done = nanocoder(*words, env=variables)
    assert done.returncode == 2
    assert said in done.stderr


# What the doctor finds in a configuration


@pytest.mark.parametrize(
    ("config", "code", "said"),
    [
        ('sandbox = "bubble"', 1, "config.toml:1: there is no sandbox 'bubble'. Installed: "),
        ('dialect = "zz"', 1, "config.toml:1: there is no dialect 'zz'. Installed: "),
        ("[plugins]\nstrict = true", 1, "write one: nanocoder plugins lock"),
        ('[tools]\ndisable = ["nosuch"]', 0, "tools.disable names 'nosuch': no such tool"),
        ('[plugins]\ndisable = ["tool-gerp"]', 0, "plugins.disable names 'tool-gerp': no such"),
    ],
)
def test_the_doctor_names_what_the_configuration_asks_for_in_vain(nanocoder, config, code, said):
    configured(nanocoder, config)
    done = nanocoder("doctor")
    assert done.returncode == code
    assert said in done.stdout
    assert done.stderr == ""


def test_the_doctor_does_not_complain_of_what_is_switched_off(nanocoder):
    configured(
        nanocoder,
        '[plugins]\ndisable = ["tool-read"]\n[plugins.tool-read]\nmax_bytes = 9\n'
        '[tools]\ndisable = ["grep"]\n',
    )
    assert "tool-read" not in nanocoder("doctor").stdout


def test_a_tool_cannot_be_given_a_name_that_no_model_could_call(nanocoder):
    path = configured(nanocoder, '[tools.rename]\ngrep = "Bad Name"\n')
    done = nanocoder("tools")
    assert done.returncode == 2
    assert f"{path}:1: tools.rename: 'Bad Name' is not a name; use lower-case" in done.stderr


def test_the_doctor_says_that_a_limit_on_money_cannot_be_kept(nanocoder):
    limit = {"NANOCODER_MAX_COST_USD": "1.0", "NANOCODER_MODEL": "openai/x", "OPENAI_API_KEY": "k"}
    done = nanocoder("doctor", env=limit)
    assert done.returncode == 1
    assert "the price of openai/x is unknown" in done.stdout
    gateway = {**limit, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert nanocoder("doctor", env=gateway).returncode == 1, "a server here may sell others' models"
    known = {**gateway, "NANOCODER_MODEL": "openai/gpt-5.5"}
    assert nanocoder("doctor", env=known).returncode == 0


@pytest.mark.contract("NT-64")
def test_the_doctor_and_the_list_say_which_variable_has_the_key(nanocoder):
    model = {"NANOCODER_MODEL": "google/gemini"}
    for variable in ("GOOGLE_API_KEY", "GEMINI_API_KEY_FILE"):
        done = nanocoder("doctor", env={**model, variable: "secret"})
        assert f"google/gemini, its key from {variable}" in done.stdout
        assert "secret" not in done.stdout
    assert "its key from" not in nanocoder("doctor", env=model).stdout
    listed = nanocoder("models", env={"GOOGLE_API_KEY": "secret"}).stdout
    (row,) = [line for line in listed.splitlines() if line.startswith("google")]
    assert "GOOGLE_API_KEY" in row
    assert "GEMINI_API_KEY" not in row


# What is suggested in its place


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("version",), "there is no command 'version'; did you mean '--version'? "),
        (("help",), "there is no command 'help'; did you mean '--help'? "),
        (("undo",), "there is no command 'undo'; did you mean 'sessions undo'? "),
        (("install", "x"), "did you mean 'plugins install'? "),
        (("resume",), "did you mean '--resume' or 'sessions resume'? "),
        (("mode",), "there is no command 'mode'; did you mean '--mode'? "),
        (("session",), "there is no command 'session'; did you mean 'sessions'? "),
        (("model",), "there is no command 'model'; did you mean 'models'? "),
        (("undoo",), "there is no command 'undoo'; did you mean 'sessions undo'? "),
        (("vresion",), "there is no command 'vresion'; did you mean '--version'? "),
        (("sesions",), "there is no command 'sesions'; did you mean 'sessions'? "),
        (("init",), "there is no command 'init'; to write a first AGENTS.md: nanocoder chat "),
        (("inti",), "there is no command 'inti'; to write a first AGENTS.md: nanocoder chat "),
        (("refactor",), "there is no command 'refactor'. To give a prompt"),
        (("logout-now",), "there is no command 'logout-now'; did you mean 'mcp logout'? "),
        (("config", "get", "mode"), "there is no action 'get'; did you mean 'where'? "),
        (("plugins", "add", "x"), "there is no action 'add'; did you mean 'install'? "),
        (("run", "hi", "--model", "nope"), "A model is written PROVIDER/MODEL. Providers: "),
        (("run", "hi", "--model", "opnai/x"), "; did you mean 'openai'? "),
    ],
)
def test_a_suggestion_is_what_was_probably_meant(nanocoder, words, hint):
    done = nanocoder(*words)
    assert done.returncode == 2
    assert hint in done.stderr
