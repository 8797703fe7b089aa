"""What Acme's people see."""

import acme_nanocoder_ui as acme
import pytest
from nanocoder import ToolCall, ToolResult

CALL = ToolCall("c", "deploy_ticket", {"number": "DEP-7"})
TICKET = {"service": "shop", "version": "1.2.3", "state": "waiting", "owner": "ada"}


def test_a_preview_names_the_ticket():
    assert acme.nanocoder_render(CALL, None) == "look up DEP-7"


@pytest.mark.parametrize(
    ("state", "shown"), [("waiting", "waits for its window"), ("lost", "is lost")]
)
def test_a_ticket_is_one_sentence(state, shown):
    result = ToolResult("…", data={**TICKET, "state": state})
    assert acme.nanocoder_render(CALL, result) == f"DEP-7: shop 1.2.3 {shown} (ada)"


def test_an_error_is_shown_as_it_is():
    result = ToolResult("no such ticket", is_error=True, error_class="no_ticket")
    assert acme.nanocoder_render(CALL, result) == "DEP-7: no such ticket"


def test_other_calls_are_left_to_others():
    assert acme.nanocoder_render(ToolCall("c", "bash", {}), None) is None


def test_the_model_is_told_in_every_session(run_session):
    played = run_session(["Hello."], plugins={"acme-ui": acme})
    assert "name the deploy ticket" in played.model.requests[0].system
