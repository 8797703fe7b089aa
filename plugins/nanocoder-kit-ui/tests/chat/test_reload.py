"""`/reload` says what is different, also where no value is: tools that came or went."""

from types import SimpleNamespace

from nanocoder_kit_ui.chat.reload import reload_configuration
from nanocoder_testing import opened


class Display:
    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)

    warn = say


def reload(session):
    display = Display()
    nothing = SimpleNamespace(find_model=lambda: None, say_notices=lambda: None)
    reload_configuration(SimpleNamespace(session=session, display=display, **vars(nothing)))
    return "\n".join(display.lines)


def test_tools_that_another_terminal_brought_are_named(tmp_path, monkeypatch):
    with opened(tmp_path) as (session, _):
        assert reload(session) == "Configuration reloaded: no changes"
        tools = [{"mcp_shop_buy": None, "gone": None}, {"mcp_shop_buy": None, "new": None}]
        monkeypatch.setattr(type(session), "tools", property(lambda _self: tools.pop(0)))
        monkeypatch.setattr(type(session), "reload", lambda _self: None)
        text = reload(session)
    assert text.startswith("tools that are new: new\ntools that are gone: gone\n")
