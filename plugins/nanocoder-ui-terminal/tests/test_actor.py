"""An answer in the terminal carries the name of the account that gives it."""

import os
import pwd

from nanocoder_ui_terminal.approval import login_name


def test_the_name_is_the_systems_and_no_variables(monkeypatch):
    for variable in ("LOGNAME", "USER", "USERNAME"):
        monkeypatch.setenv(variable, "somebody-else")
    assert login_name() == pwd.getpwuid(os.getuid()).pw_name


def test_an_account_without_an_entry_has_its_number(monkeypatch):
    def missing(_uid):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", missing)
    assert login_name() == f"uid {os.getuid()}"
