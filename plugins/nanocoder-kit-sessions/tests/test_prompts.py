"""Prompts, numbered as people see them: after rewinds, compactions and in older journals, too."""

import pytest
from nanocoder import Message, UsageError, encode_message
from nanocoder_kit_sessions import SessionStore, matches
from nanocoder_kit_sessions.prompts import find_prompt, prompt_numbers, prompts_of


@pytest.fixture
def store(tmp_path):
    return SessionStore(tmp_path / "state")


@pytest.fixture
def journal(store, tmp_path):
    _, journal = store.create(tmp_path, "acme/large", "ask")
    yield journal
    journal.close()


def ask(journal, text, typed=None):
    """Record a prompt and its answer; returns the number of its first record."""
    said = text if typed is None else typed
    seq = journal.append("run.started", {"prompt": said})
    journal.append("message", encode_message(Message("user", text, typed=typed)))
    journal.append("message", encode_message(Message("assistant", text.upper())))
    return seq


def texts(records):
    return [(prompt.number, prompt.text) for prompt in prompts_of(records)]


def test_prompts_are_what_was_typed_and_notes_of_the_program_are_none(journal):
    ask(journal, "one")
    ask(journal, "The file a: x\n\ntwo", typed="two")
    journal.append("message", encode_message(Message("user", "[a note]", typed="")))
    assert texts(journal.records()) == [(1, "one"), (2, "two")]


def test_a_fork_has_messages_only_and_its_prompts_are_numbered(journal):
    for text in ("one", "two"):
        journal.append("message", encode_message(Message("user", text)))
    assert texts(journal.records()) == [(1, "one"), (2, "two")]


def test_a_message_of_an_earlier_release_has_the_prompt_of_its_run(journal):
    journal.append("run.started", {"prompt": "typed"})
    journal.append("message", {"role": "user", "text": "typed and a file"})
    assert texts(journal.records()) == [(1, "typed")]


def test_what_was_rewound_counts_no_more(journal):
    ask(journal, "one")
    second = ask(journal, "two")
    ask(journal, "three")
    journal.append("transcript.rewound", {"from": second})
    ask(journal, "other")
    assert texts(journal.records()) == [(1, "one"), (2, "other")]
    assert find_prompt(journal.records(), 2).text == "other"


@pytest.mark.parametrize("number", [0, -1, 3])
def test_a_number_that_no_prompt_has_is_refused(journal, number):
    ask(journal, "one")
    ask(journal, "two")
    with pytest.raises(UsageError, match=rf"no prompt {number}: this session has 2 prompts"):
        find_prompt(journal.records(), number)


def test_messages_keep_their_numbers_after_a_compaction(store, journal):
    for text in ("one", "two", "three"):
        ask(journal, text)
    summary = [Message("user", "In short: …", typed=""), Message("user", "two")]
    data = {"messages": [encode_message(message) for message in summary]}
    journal.append("transcript.compacted", data)
    ask(journal, "three")
    messages = store.transcript(journal.id).messages
    numbers = prompt_numbers(messages, prompts_of(journal.records()))
    numbered = {number: messages[place].text for place, number in numbers.items()}
    assert numbered == {2: "two", 4: "three"}


def test_a_session_is_found_by_words_of_its_title_and_of_its_first_prompt(store, journal):
    ask(journal, f"Rewrite the parser {'very ' * 30}carefully")
    journal.rename("Grammar")
    [summary] = store.list()
    assert matches(summary, ["CAREFULLY", "grammar"])
    assert matches(summary, [])
    assert not matches(summary, ["grammar", "lexer"])
