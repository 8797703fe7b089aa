"""The page in a real Chromium: what a person sees, with mouse, keyboard and a second browser."""

import pytest

sync_api = pytest.importorskip("playwright.sync_api")

pytestmark = [
    pytest.mark.contract("D5"),
    pytest.mark.needs("chromium"),
    pytest.mark.timeout(120),
]

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
EDIT = {
    "name": "write_file",
    "arguments": {"path": "hello.py", "content": "def greet():\n    return 'hi'\n"},
}
HOSTILE = (
    "<img src=x onerror=document.title='OWNED'><script>document.title='OWNED'</script>"
    " [a](javascript:document.title='OWNED') \u202e"
)


@pytest.fixture(scope="module")
def chromium():
    import shutil

    with sync_api.sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium):
    """Return what opens a link in a browser of its own, and lists what went wrong there."""
    contexts = []

    def open_link(link, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on(
            "console",
            lambda message: page.problems.append(message.text) if message.type == "error" else None,
        )
        page.goto(link)
        return page

    yield open_link
    for context in contexts:
        context.close()


def send(page, text):
    page.fill("#prompt", text)
    page.press("#prompt", "Enter")


def test_a_person_approves_by_mouse_and_reads_the_answer(web, browse, nanocoder, tmp_path):
    server = web({"text": "First.", "calls": [EDIT]}, {"text": f"**Done.** {HOSTILE}"})
    page = browse(server.link, viewport={"width": 1200, "height": 800})
    page.wait_for_selector("#status:text-is('Ready')")
    assert "#" not in page.url
    send(page, "Write a greeting")
    page.wait_for_selector(".question")
    assert page.inner_text("#status") == "Waiting for you"
    assert page.locator(".question .t-k").first.inner_text() == "def"
    page.click(".question button.yes")
    page.wait_for_selector(".changed")
    assert page.inner_text(".changed") == "Changed: hello.py"
    assert page.inner_text(".answer strong") == "Done."
    assert "OWNED" not in page.title()
    assert page.locator("#log a, #log img, #log script").count() == 0
    assert "\\u202e" in page.inner_text("#log")
    assert page.locator("#tokens rect").count() > 0
    assert page.locator("#turns tbody tr").count() == 2
    assert page.problems == []
    assert (nanocoder.cwd / "hello.py").exists()
    assert page.screenshot(path=tmp_path / "page.png")


PATCH = {
    "name": "apply_patch",
    "arguments": {"patch": "*** Begin Patch\n*** Add File: a.py\n+one = 1\n*** End Patch\n"},
}
OUTSIDE = """
() => [...document.querySelectorAll("body *")]
  .filter((each) => each.checkVisibility() && !each.closest("pre"))
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => each.outerHTML.slice(0, 80))
"""


@pytest.mark.full
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window_and_leaves_room_for_the_conversation(web, browse, width):
    server = web({"text": "First.", "calls": [EDIT, PATCH]}, {"text": "Done."})
    page = browse(server.link, viewport={"width": width, "height": 800})
    page.wait_for_selector("#status:text-is('Ready')")
    assert page.locator("header").bounding_box()["height"] < 90
    assert not page.is_visible("#plots"), "there is nothing to plot yet"
    assert not page.is_visible("#invite")
    send(page, "Write a greeting")
    page.wait_for_selector(".question button.yes:enabled")
    card = page.locator(".question").first.bounding_box()
    choice = page.locator(".question select").first.bounding_box()
    assert choice["x"] + choice["width"] < card["x"] + card["width"]
    assert page.evaluate(OUTSIDE) == []
    for _ in range(2):
        page.locator(".question button.yes:enabled").first.click()
    page.wait_for_selector(".changed")
    plots = page.get_by_role("complementary", name="Tokens and time of each turn", exact=True)
    assert plots.count() == (width > 800)
    page.click("#people summary")
    assert page.evaluate(OUTSIDE) == []


@pytest.mark.full
def test_a_finished_change_shows_what_it_changed_and_folds_its_arguments(web, browse):
    server = web({"calls": [EDIT, PATCH]}, {"text": "Done."}, words=("--mode", "auto"))
    page = browse(server.link)
    page.wait_for_selector("#status:text-is('Ready')")
    send(page, "Write a greeting")
    page.wait_for_selector(".changed")
    edit, patch = page.locator("#log .call").all()
    assert edit.locator(".brief").inner_text() == "hello.py +2 -0"
    assert patch.locator(".brief").inner_text() == "a.py +1 -0"
    edit.locator("summary").first.click()
    assert edit.locator(".t-k").first.inner_text() == "def"
    assert not edit.locator(".arguments pre").is_visible()
    edit.locator(".arguments summary").click()
    assert '"path": "hello.py"' in edit.locator(".arguments pre").inner_text()


@pytest.mark.full
def test_everything_works_with_the_keyboard(web, browse, nanocoder):
    server = web({"calls": [EDIT]}, {"text": "Done."})
    page = browse(server.link)
    page.wait_for_selector("#status:text-is('Ready')")
    page.focus("#prompt")
    page.keyboard.type("Write a greeting")
    page.keyboard.press("Enter")
    page.wait_for_selector(".question button.no:enabled")
    focused = "document.activeElement.tagName + ':' + document.activeElement.textContent"
    assert page.evaluate(focused) == "H2:Approve write_file?"
    page.keyboard.press("Enter")  # the question is no button: a stray Enter decides nothing
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.textContent") != "Refuse":
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("too short")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer:has-text('Done.')")
    assert page.evaluate("document.activeElement.id") == "prompt"
    assert not (nanocoder.cwd / "hello.py").exists()


@pytest.mark.full
def test_edited_arguments_are_in_sight_and_what_was_approved_is_said(web, browse, nanocoder):
    server = web({"calls": [EDIT]}, {"text": "Done."})
    page = browse(server.link, viewport={"width": 1000, "height": 800})
    page.wait_for_selector("#status:text-is('Ready')")
    send(page, "Write a greeting")
    page.click(".question button:text-is('Edit')")
    draft, buttons = (page.locator(f".question {part}") for part in ("textarea", ".answers"))
    edges = draft.bounding_box(), buttons.bounding_box()
    assert edges[0]["y"] + edges[0]["height"] <= edges[1]["y"] + 1
    draft.fill('{"path": "hello.py", "content": "two\\n"}')
    page.click(".question button.yes")
    page.wait_for_selector(".changed")
    assert "write_file: approved as edited" in page.inner_text("#log")
    assert "done, edited" in page.inner_text("#log")
    assert (nanocoder.cwd / "hello.py").read_text() == "two\n"


def test_a_question_takes_no_click_that_was_meant_for_something_else(web, browse):
    server = web({"calls": [EDIT], "delay_s": 1.5}, {"text": "Done."})
    page = browse(server.link)
    page.wait_for_selector("#status:text-is('Ready')")
    send(page, "Write a greeting")
    page.fill("#prompt", "I am still typing")
    page.wait_for_selector(".question")
    assert page.locator(".question button:enabled").count() in {0, 3}
    assert page.evaluate("document.activeElement.id") == "prompt"
    page.wait_for_selector(".question button.yes:enabled")
    assert page.input_value("#prompt") == "I am still typing"


@pytest.mark.full
def test_a_prompt_that_is_typed_while_the_last_one_is_sent_stays(web, browse):
    server = web({"text": "First."})
    page = browse(server.link)
    page.wait_for_selector("#status:text-is('Ready')")
    held = []
    # Playwright takes no method of a list.
    page.route("**/api/prompt", lambda route: held.append(route))  # noqa: PLW0108
    with page.expect_request("**/api/prompt"):
        send(page, "Say one")
    page.fill("#prompt", "and then")
    with page.expect_response("**/api/prompt"):
        held[0].continue_()
    page.wait_for_selector(".answer:has-text('First.')")
    assert page.input_value("#prompt") == "and then"


@pytest.mark.full
def test_two_browsers_show_the_same_and_a_late_one_catches_up(web, browse):
    server = web({"calls": [EDIT]}, {"text": "Done."})
    first = browse(server.link)
    first.wait_for_selector("#status:text-is('Ready')")
    first.click("#people summary")
    first.click("#invite")
    first.wait_for_selector("#link code")
    send(first, "Write a greeting")
    first.wait_for_selector(".question")
    second = browse(first.inner_text("#link code"), color_scheme="dark")
    second.wait_for_selector(".question button.yes:enabled")
    second.click(".question button.yes")
    for page in (first, second):
        page.wait_for_selector(".answer:has-text('Done.')")
        assert page.locator(".question").count() == 0
        assert page.locator("#log .note:text('write_file: approved')").count() == 1
    light, dark = (
        page.evaluate("getComputedStyle(document.body).backgroundColor") for page in (first, second)
    )
    assert light != dark


@pytest.mark.full
def test_a_used_link_and_a_server_that_ended_are_said_in_words(web, browse):
    server = web({"text": "Hi."})
    page = browse(server.link)
    page.wait_for_selector("#status:text-is('Ready')")
    other = browse(server.link)
    other.wait_for_selector("#status.lost")
    assert other.inner_text("#status") == "this link was used before; take a new one"
    page.reload()  # its key is kept for this tab
    page.wait_for_selector("#status:text-is('Ready')")
    assert server.leave() == 0
    page.wait_for_selector("#status.lost")
    assert page.inner_text("#status").startswith("Not connected")
    send(page, "Hello?")
    page.wait_for_selector("#problem:not(:empty)")
    assert "cannot be reached" in page.inner_text("#problem")
    assert page.input_value("#prompt") == "Hello?"


@pytest.mark.full
def test_names_and_roles_are_there_for_a_screen_reader(web, browse):
    server = web({"calls": [EDIT]}, {"text": "Done."})
    page = browse(server.link)
    page.wait_for_selector("#status:text-is('Ready')")
    send(page, "Write a greeting")
    page.wait_for_selector(".question")
    for role, name in (
        ("log", "Conversation"),
        ("region", "Waiting for you"),
        ("textbox", "Prompt"),
        ("combobox", "Mode"),
        ("button", "Approve"),
        ("button", "Refuse"),
        ("textbox", "Why not, for the model"),
    ):
        assert page.get_by_role(role, name=name, exact=True).count() == 1, (role, name)


@pytest.mark.full
def test_what_answers_is_in_sight_in_a_small_window_however_long_the_change_is(web, browse):
    content = "".join(f"row {number}\n" for number in range(300))
    write = {"name": "write_file", "arguments": {"path": "long.py", "content": content}}
    page = browse(
        web({"text": "Long.", "calls": [write]}, {"text": "Done."}).link,
        viewport={"width": 700, "height": 480},
    )
    send(page, "Write it")
    page.wait_for_selector(".question")
    top = page.locator("#questions").bounding_box()
    for button in ("button.yes", "button.no"):
        box = page.locator(f".question {button}").bounding_box()
        assert box["y"] + box["height"] <= min(480, top["y"] + top["height"])
    change = page.locator(".question pre").first.bounding_box()
    answers = page.locator(".question .answers").bounding_box()
    assert top["y"] <= change["y"] < answers["y"] - 40, "some lines of the change are in sight"


@pytest.mark.full
def test_a_command_is_completed_and_run_with_the_keyboard(web, browse):
    page = browse(web({"text": "Hi."}).link)
    page.wait_for_selector("#status:text-is('Ready')")
    page.focus("#prompt")
    page.keyboard.type("/co")
    page.wait_for_selector("#suggestions li:nth-child(3):last-child")  # no longer those of "/c"
    words = page.locator("#suggestions .word").all_inner_texts()
    assert words == ["/cost", "/context", "/compact"]
    assert page.get_by_role("listbox", name="Suggestions").count() == 1
    assert page.inner_text("#count") == "3 suggestions; arrow keys choose, Tab takes one"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    active = page.get_attribute("#prompt", "aria-activedescendant")
    chosen = page.get_by_role("listbox").get_by_role("option", selected=True)
    assert (chosen.count(), chosen.get_attribute("id")) == (1, active)
    page.keyboard.press("Enter")
    assert page.input_value("#prompt") == "/context"
    assert page.locator("#suggestions li").count() == 0
    page.keyboard.press("Enter")
    page.wait_for_selector(".rows th:text-is('system prompt')")
    assert page.inner_text("#log .prompt") == "/context"
    assert page.input_value("#prompt") == ""
    assert page.locator(".rows td[aria-hidden]").count() > 0, "no screen reader spells out bars"
    assert page.problems == []


@pytest.mark.full
def test_a_file_is_completed_by_tab_and_by_mouse_and_escape_closes_the_list(web, browse, nanocoder):
    (nanocoder.cwd / "hello.py").write_text("print('hello')\n")
    page = browse(web({"text": "I see."}).link)
    page.wait_for_selector("#status:text-is('Ready')")
    page.focus("#prompt")
    page.keyboard.type("See @hel")
    page.wait_for_selector("#suggestions li")
    page.keyboard.press("Escape")
    assert page.locator("#suggestions li").count() == 0
    page.keyboard.type("l")
    page.wait_for_selector("#suggestions li")
    page.keyboard.press("Tab")
    assert page.input_value("#prompt") == "See @hello.py"
    assert page.evaluate("document.activeElement.id") == "prompt"
    page.keyboard.press("Backspace")
    page.click("#suggestions li")
    assert page.input_value("#prompt") == "See @hello.py"
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer:has-text('I see.')")
    assert page.locator(".call .name").inner_text() == "read_file"
    assert page.locator("#log .prompt").count() == 1


@pytest.mark.full
def test_a_pasted_line_runs_nothing_and_a_typed_sign_before_it_does(web, browse, nanocoder):
    page = browse(web({"text": "Hi."}).link)
    page.wait_for_selector("#status:text-is('Ready')")

    def paste(text):
        # Another field is where the text comes from, so that the clipboard is a real one.
        page.eval_on_selector("#people", "people => { people.open = true; }")
        page.fill("#name", text)
        page.press("#name", "Control+a")
        page.press("#name", "Control+x")
        page.press("#prompt", "Control+v")

    paste("!touch bad")
    page.press("#prompt", "Enter")
    page.wait_for_selector(".note:has-text('A pasted ! runs nothing')")
    page.focus("#prompt")
    page.keyboard.type("!")
    paste("touch good; echo m$((40+1))")
    page.press("#prompt", "Enter")
    page.wait_for_selector(".call[open]:has-text('m41')")
    assert (nanocoder.cwd / "good").exists()
    assert not (nanocoder.cwd / "bad").exists()


@pytest.mark.full
def test_a_wrong_command_says_which_was_meant_and_help_fits_a_narrow_window(web, browse):
    page = browse(web({"text": "Hi."}).link, viewport={"width": 400, "height": 800})
    page.wait_for_selector("#status:text-is('Ready')")
    send(page, "/hlep")
    page.wait_for_selector(".note.warning:has-text(\"did you mean '/help'\")")
    send(page, "/help")
    page.wait_for_selector(".rows th:text-is('/exit')")
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)
    assert page.evaluate("document.querySelector('.rows').scrollWidth") <= 400


@pytest.mark.full
def test_an_undo_is_agreed_to_in_the_page_and_another_session_empties_it(web, browse, nanocoder):
    server = web({"calls": [EDIT]}, {"text": "Done."}, words=("--mode", "edits"))
    page = browse(server.link, viewport={"width": 700, "height": 600})
    page.wait_for_selector("#status:text-is('Ready')")
    send(page, "/help")
    page.wait_for_selector(".rows")
    send(page, "Write a greeting")
    page.wait_for_selector(".changed")
    send(page, "/undo")
    page.wait_for_selector(".block .diff")
    end = "(log) => log.scrollHeight - log.scrollTop - log.clientHeight"
    page.wait_for_selector(".question button:text-is('Yes'):enabled")
    assert page.evaluate_handle("document.getElementById('log')").evaluate(end) < 2
    page.click(".question button:text-is('Yes')")
    page.wait_for_selector(".note:has-text('/redo reverts this')")
    assert not (nanocoder.cwd / "hello.py").exists()
    send(page, "/clear")
    page.wait_for_selector("#log .prompt", state="detached")
    assert page.locator("#turns tbody tr").count() == 0


@pytest.mark.full
def test_reading_a_long_prompt_is_shown_until_the_answer_comes(web, browse):
    server = web({"progress": "reading the prompt, 34 %", "delay_s": 60, "text": "Late."})
    page = browse(server.link)
    page.wait_for_selector("#status:text-is('Ready')")
    send(page, "hi")
    page.wait_for_selector("#passing:text-is('reading the prompt, 34 %')")
    page.click("#stop")
    page.wait_for_selector("#passing", state="hidden")
