"""What a person reads when something is wrong: what it is, who said so, and what to do now."""

import pytest
from nanocoder import Plugins, ProviderError
from nanocoder.models import first_usable

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
    assert "there is no provider 'bad' (of NANOCODER_MODEL 'bad')" in said
    assert "A model is written PROVIDER/MODEL. Providers: " in said
    assert "--model 'bad'" not in said


def test_a_refused_model_is_blamed_on_the_line_of_the_file_or_on_the_flag(nanocoder):
    path = configured(nanocoder, '\nmodel = "zork/x"\n')
    done = nanocoder("run", "go")
    assert done.returncode == 2
    assert f"no provider 'zork' (of model 'zork/x' in {path}:2)" in done.stderr
    assert "nanocoder plugins install provider-zork" in done.stderr
    done = nanocoder("run", "go", "--model", "zonk/x", env={"NANOCODER_MODEL": "bad"})
    assert "no provider 'zonk' (of --model 'zonk/x')" in done.stderr


def test_without_a_model_the_way_to_one_is_a_command_that_can_be_typed():
    with pytest.raises(ProviderError) as caught:
        first_usable(Plugins(), {})
    assert "nanocoder plugins install 'provider-local[weights]'" in str(caught.value)
    assert "in a clone: uv run --extra local nanocoder" in str(caught.value)


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
    assert "unknown argument '--modle'; did you mean --mode or --model" in done.stderr
