import pytest
from nanocoder import Message, Request, ToolCall, ToolResult
from nanocoder_kit_llm.actions import Actions, chat

FOLDER = "Files in the current directory: app.py, notes.md."


def reminder(request):
    """Return what the model reads of missing files at the end of its last turn."""
    last = chat(request, Actions.of(()), {})[-1]["content"]
    return "".join(last.rpartition("\n(The file ")[1:]) if "not there yet" in last else ""


def step(path, name="write_file", *, is_error=False, **more):
    call = ToolCall(path, name, {"path": path, **more})
    result = ToolResult("done", call_id=call.id, is_error=is_error)
    return [Message("assistant", calls=(call,)), Message("tool", results=(result,))]


def after(text, *steps, system=FOLDER):
    messages = [Message("user", text), *(message for each in steps for message in each)]
    return reminder(Request("m", system, messages))


BOTH = "Write a.py with a function and src/test_a.py that tests it"


def test_a_file_that_is_missing_after_a_write_is_named_once():
    missing = "\n(The file src/test_a.py is not there yet.)"
    assert after(BOTH, step("a.py")) == missing
    assert after(BOTH, step("a.py"), step("a.py")) == ""
    assert after(BOTH, step("a.py"), step("src/test_a.py")) == ""
    assert "a.py is not there" in after("Write a.py and b.py", step("b.py"))


def test_each_of_several_missing_files_is_named():
    text = "Create a.txt, b.txt and c.txt"
    assert "b.txt" in after(text, step("a.txt"))
    assert "c.txt" in after(text, step("a.txt"), step("b.txt"))
    assert after(text, step("a.txt"), step("b.txt"), step("c.txt")) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Copy app.py to a.py",
        "Write a.py with what notes.md says",
        "Write a.py, which calls os.path and math.sqrt, e.g. 1.5 times (see example.com)",
        "Write a.py, and call helper.py() in it",
    ],
)
def test_files_that_are_there_and_words_that_are_no_files_are_not_missing(text):
    assert after(text, step("a.py")) == ""


def test_only_a_write_that_succeeded_counts():
    assert after(BOTH, step("a.py", "read_file")) == ""
    assert after(BOTH, step("a.py", is_error=True)) == ""
    assert "a.py" in after("Write a.py and b.py", step("a.py", is_error=True), step("b.py"))
    assert after(BOTH) == ""


def test_a_command_that_names_the_file_may_have_made_it():
    made = step("", "bash", command="touch src/test_a.py")
    assert after(BOTH, made, step("a.py")) == ""


def test_files_of_earlier_requests_are_there():
    first = [Message("user", "Write src/test_a.py"), *step("src/test_a.py")]
    messages = [*first, Message("assistant", "Done."), Message("user", BOTH), *step("a.py")]
    assert reminder(Request("m", FOLDER, messages)) == ""


def test_a_file_in_the_request_and_a_folder_that_is_not_listed_whole_are_no_ground():
    inside = "The file data.csv now reads:\n```\n1\n```\n\n"
    request = Message("user", f"{inside}Write a.py for data.csv", typed="Write a.py for data.csv")
    assert reminder(Request("m", "", [request, *step("a.py")])) == ""
    assert after(BOTH, step("a.py"), system="Files: x.py and 3 more.") == ""
