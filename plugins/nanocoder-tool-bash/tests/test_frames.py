import pytest
from nanocoder_tool_bash.frames import last_states

UP = "\x1b[1A\x1b[2K"
STATUS = "\x1b7\x1b[0;0f\x1b[2KProgress: {}%\x1b8"
UNPACKED = "Unpacking x\nUnpacking y\n\nProgress: 2%"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("a\nb\n", "a\nb\n"),
        ("\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a long state\rend\n", "end\n"),
        ("10%\r\x1b[K20%\r\x1b[K100%\n", "100%\n"),
        ("50%\x08\x08\x08100%\n", "100%\n"),
        (f"one: 1\ntwo: 1\n{UP}{UP}one: 2\ntwo: 2\n", "one: 2\ntwo: 2\n"),
        ("a 1\nb 1\n\x1b[2Fa 2\nb 2\n", "a 2\nb 2\n"),
        ("a 1\nb 1\n\x1b[2A\x1b[Ja 2\n", "a 2\n"),
        ("a 1\nb 1\n\x1b[2A\x1b[1Ga 2\nb 2\n", "a 2\nb 2\n"),
        ("log\n\x1b[H\x1b[2Jtime 1\n\x1b[H\x1b[2Jtime 2\n", "log\ntime 2\n"),
        ("\x1b[1;1Ha\x1b[2;3Hb\x1b[1;1HA", "A\n  b"),
        ("\x1b[?25la\x1b[?25h\rb\n", "b\n"),
        ("first\x1b[1000Aup\x1b[9999999B\n", "firstup\n"),
        ("\x1b[9999;9999Hx\x1b[1;1Ha", None),
        ("12345\x1b[3D\x1b[K\n", "12\n"),
        ("\x1b7 50%\x1b8\x1b7 60%\x1b8", " 60%"),
        ("a\x1b7 50%\x1b8 60%\x1b8 70%\n", "a 70%\n"),
        ("\x1b[s 50%\x1b[u 60%\n", " 60%\n"),
        ("a 1\nb 1\n\x1b7\x1b[2A\ra 2\x1b8c\n", "a 2\nb 1\nc\n"),
        ("a 1\nb 1\x1bM\ra 2\n", "a 2\nb 1"),
        ("\x1b]0;title\x07a\rb\x1b]2;title\x1b\\c\n", "bc\n"),
        ("a\x1b(B\x1b[0 q\x1b[>1u\x1b=\rb\n", "b\n"),
        (f"{STATUS.format(1)}\rUnpacking x\n{STATUS.format(2)}\rUnpacking y\n", UNPACKED),
        ("a\n" + "\x1b7\x1b[Hb" * 3_000, "a\n\nb"),
        (f"\n\n\x1b[H{STATUS.format(1)}text", "text\nProgress: 1%"),
    ],
)
def test_a_text_that_writes_over_itself_is_read_as_a_terminal_shows_it(printed, shown):
    if shown is None:
        assert len(last_states(printed)) < 5_000
    else:
        assert last_states(printed) == shown


def test_three_hundred_frames_of_a_dashboard_are_its_last_one():
    frames = [f"build {each}\ntest {each}\n" for each in range(300)]
    assert last_states((UP + UP).join(frames)) == "build 299\ntest 299\n"


def test_a_status_line_leaves_the_lines_of_a_command(shell):
    output = shell(
        r"for i in x y z; do printf '\0337\033[24;0fProgress: %s\0338\rUnpacking %s\n' $i $i; done"
    ).output
    assert "Unpacking x\nUnpacking y\nUnpacking z\n" in output
    assert output.count("Progress") == 1


def test_a_command_that_draws_frames_gives_the_last(shell):
    output = shell(
        r"for i in $(seq 40); do printf 'step %d of 40\nbusy\n\033[2A' $i; done; printf '\033[2B'"
    ).output
    assert "step 40 of 40\nbusy" in output
    assert "step 39" not in output
