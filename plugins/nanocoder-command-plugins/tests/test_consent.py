"""What a person reads before packages are installed."""

import re
from argparse import Namespace

from nanocoder_command_setup.consent import Proposal, is_agreed
from nanocoder_kit_process.capabilities import Package

TOOL = """
@tool(risk="safe", effects={{Effect.READ}}, examples=[{{"path": "a.py"}}])
def {name}(ctx: ToolContext, path: Annotated[str, "A file"]) -> str:
    \"\"\"Count the lines of a file.\"\"\"
"""


class Screen:
    """A host that keeps what is printed."""

    is_interactive = False

    def __init__(self, columns=0):
        self.lines = []
        self.columns = columns

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


def test_a_package_of_ours_without_a_plugin_may_be_installed_and_another_may_not():
    def decide(name):
        screen = Screen()
        named = Proposal(Package(name, "1.0", (), (), ()), None, is_named=True)
        return is_agreed([named], Namespace(yes=False), screen), screen.lines

    code, lines = decide("nanocoder-testing")
    assert (code, "nanocoder-testing 1.0" in lines) == (3, True)
    assert not any("no plugin" in line for line in lines)
    assert "--yes" in lines[-1], "it is asked about, as any other"
    code, lines = decide("nanocoder-testings")
    assert (code, lines[-1].startswith("nanocoder-testings is no plugin")) == (3, True)


def test_what_stays_as_it_is_is_not_listed():
    program = Package("idna", "3.20", (), (), (), ("idna",))
    newer = Package("idna", "3.21", (), (), (), ("idna",))

    def lines(proposal):
        screen = Screen()
        assert is_agreed([proposal], Namespace(yes=True), screen) == 0
        return screen.lines

    assert lines(Proposal(program, program)) == []
    assert lines(Proposal(newer, program)) == ["idna 3.21 (now 3.20): wants no more than before"]
    plugin = Package("nanocoder-tool-acme", "1", ("tool-acme",), (), ())
    assert lines(Proposal(plugin, plugin, is_named=True)), "what a person names is shown"


def test_what_is_named_comes_first_and_lines_are_indented_and_wrapped():
    library = Package("alpha", "1.0", (), (), ())
    program = Package("beta", "2.0", (), (), (), ("beta-with-a-long-name", "and-another-program"))
    plugin = Package("nanocoder-tool-acme", "1", ("tool-acme",), (), ())
    proposals = [Proposal(each, None) for each in (library, program)]
    screen = Screen(columns=40)
    named = Proposal(plugin, None, is_named=True)
    assert is_agreed([*proposals, named], Namespace(yes=True), screen) == 0
    assert max(map(len, screen.lines)) <= 40
    heads = [line for line in screen.lines if line and line[0] != " "]
    assert heads[:3] == ["nanocoder-tool-acme 1", "beta 2.0", "and the libraries alpha 1.0"]
    start = screen.lines.index("beta 2.0")
    assert screen.lines[start - 1 :][:5] == [
        "",
        "beta 2.0",
        "  it is a library",
        "  it adds the programs",
        "    beta-with-a-long-name,",
    ]


def test_a_package_with_several_plugins_names_them(tmp_path):
    for names, shown in ((("a", "b"), ["  plugins: a, b"]), (("a",), [])):
        package = Package("nanocoder-acme", "1", names, (tmp_path,), ())
        screen = Screen()
        assert is_agreed([Proposal(package, None)], Namespace(yes=True), screen) == 0
        assert [line for line in screen.lines if line.startswith("  plugins:")] == shown


def test_the_tokens_of_each_tool_are_shown_and_those_of_several_together(tmp_path):
    def lines(*names):
        (tmp_path / "acme.py").write_text("".join(TOOL.format(name=name) for name in names))
        package = Package("nanocoder-tool-acme", "1", ("tool-acme",), (tmp_path / "acme.py",), ())
        screen = Screen()
        proposal = Proposal(package, None, is_named=True)
        assert is_agreed([proposal], Namespace(yes=True), screen) == 0
        return screen.lines

    one, two = lines("count_lines"), lines("count_lines", "count_all_lines")
    row = re.compile(r"  tool (\w+): safe, read, about (\d+) tokens of each request")
    [(name, tokens)] = row.findall("\n".join(one))
    assert name == "count_lines"
    assert 20 < int(tokens) < 100, "about what `nanocoder tools` says of it once it is installed"
    assert not any("together" in line for line in one)
    sizes = [int(size) for _, size in row.findall("\n".join(two))]
    assert sizes[0] == int(tokens)
    assert f"  its tools take about {sum(sizes)} tokens of each request together" in two
