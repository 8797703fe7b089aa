"""In which sandbox the process of a server runs."""

import pytest
from nanocoder import Resource, Sandbox, hookimpl
from nanocoder_testing.playing import called


class Box:
    """A sandbox that only remembers what it started."""

    def __init__(self):
        self.started = []

    def wrap(self, argv, _ports, _access):
        self.started.append(argv)
        return argv

    def changes(self):
        return []

    def close(self):
        """Hold nothing."""

    @hookimpl
    def nanocoder_sandboxes(self):
        return [Sandbox("box", in_force=lambda _settings: "box")]

    @hookimpl
    def nanocoder_resources(self):
        return [Resource("box", lambda _session, _settings: self)]


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_server_runs_in_the_sandbox_where_its_table_says_so(place, is_inside):
    place.add("good", **({"sandbox": True} if is_inside else {}))
    box = Box()
    environment = {"HOME": "/nonexistent", "NANOCODER_SANDBOX": "box"}
    with place.session(plugins={"box": box}, environment=environment) as session:
        assert not called(session, "mcp_good_echo", {"text": "hi"})[0].is_error
    assert len(box.started) == is_inside
