"""What deploy_ticket answers."""

import json

import acme_nanocoder_deploy as acme
import pytest
from acme_nanocoder_deploy import Settings, deploy_ticket
from nanocoder import ToolError

TICKETS = {"DEP-7": {"service": "shop", "version": "1.2.3", "state": "waiting", "owner": "ada"}}


def test_the_model_reads_the_ticket_and_scripts_get_it_as_data(workspace, run_session):
    (workspace.root / "deploy-tickets.json").write_text(json.dumps(TICKETS))
    turns = [[("deploy_ticket", {"number": "DEP-7"})], "The shop waits for 1.2.3."]
    played = run_session(turns, plugins={"acme-deploy": acme})
    [result] = played.results
    assert result.output == "service: shop\nversion: 1.2.3\nstate: waiting\nowner: ada"
    assert result.data == {"number": "DEP-7", **TICKETS["DEP-7"]}


def test_a_ticket_that_is_not_there_is_answered_with_those_that_are(ctx, workspace):
    (workspace.root / "deploy-tickets.json").write_text(json.dumps(TICKETS))
    with pytest.raises(ToolError, match="there is no ticket DEP-8; there are: DEP-7"):
        deploy_ticket(ctx, "DEP-8")


def test_the_file_is_a_setting(ctx, workspace):
    (workspace.root / "other.json").write_text(json.dumps(TICKETS))
    ctx.settings = Settings(file="other.json")
    assert deploy_ticket(ctx, "DEP-7").title == "DEP-7"


@pytest.mark.parametrize("content", ["[]", '{"DEP-7": 3}', "{"])
def test_a_file_that_holds_no_tickets_is_an_error(ctx, workspace, content):
    (workspace.root / "deploy-tickets.json").write_text(content)
    with pytest.raises(ToolError):
        deploy_ticket(ctx, "DEP-7")
