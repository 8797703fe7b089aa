"""What a person reads before packages are installed."""

from argparse import Namespace

from nanocoder_command_setup.consent import Proposal, is_agreed
from nanocoder_kit_capabilities import Package


class Screen:
    """A host that keeps what is printed."""

    is_interactive = False

    def __init__(self):
        self.lines = []

    def print_line(self, text=""):
        self.lines.append(text)

    say = print_line


def test_no_library_is_left_out_however_many_there_are():
    names = [f"library-with-a-long-name-{number}" for number in range(60)]
    proposals = [Proposal(Package(name, "1.0", (), (), ()), None) for name in names]
    screen = Screen()
    assert is_agreed(proposals, Namespace(yes=True), screen) == 0
    text = " ".join(" ".join(screen.lines).split())
    assert all(f"{name} 1.0" in text for name in names)
    assert "…" not in text
