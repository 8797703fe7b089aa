"""What a child gets of our environment; that commands really get no more is tested with them."""

import pytest
from nanocoder_kit_process import environment

OURS = {"PATH": "/bin:relative::/usr/bin", "HOME": "/home/a", "LC_ALL": "C.UTF-8", "ODD": "x"}


def test_known_names_pass_and_others_do_not():
    child = environment(OURS)
    assert (child["HOME"], child["LC_ALL"]) == ("/home/a", "C.UTF-8")
    assert "ODD" not in child


def test_only_absolute_places_are_searched_for_programs():
    assert environment(OURS)["PATH"] == "/bin:/usr/bin"
    assert environment({})["PATH"].startswith("/usr/local/sbin:")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("XDG_TOKEN", "x"),
        ("HTTP_PROXY", "http://user:password@proxy.test"),
        ("GOFLAGS", "sk-abcdefghijklmnopqrst"),
        ("LD_PRELOAD", "/tmp/a.so"),
        ("PYTHONPATH", "/tmp"),
    ],
)
def test_secrets_and_what_loads_code_stay_behind(name, value):
    assert name not in environment({name: value})


def test_what_a_person_names_passes_unless_it_loads_code():
    child = environment({"DEPLOY_TOKEN": "x", "LD_PRELOAD": "y"}, ["DEPLOY_TOKEN", "LD_PRELOAD"])
    assert child["DEPLOY_TOKEN"] == "x"
    assert "LD_PRELOAD" not in child


def test_nobody_is_there_to_scroll_edit_or_answer():
    child = environment({"PAGER": "less", "CI": "false"})
    assert (child["PAGER"], child["CI"], child["GIT_TERMINAL_PROMPT"]) == ("cat", "true", "0")
