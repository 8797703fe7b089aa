"""Nobody reads the keys that sign releases, by whatever tool and path."""

from acme_nanocoder_branches import Settings, nanocoder_readable
from nanocoder import Readable, Workspace


def test_the_keys_of_releases_are_left_out_and_refused(tmp_path):
    for path in ("release-keys/old/key.asc", "src/a.py"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("text")
    readable = Readable([("acme-policy-branches", nanocoder_readable(Settings()))])
    assert readable.refuses("release-keys/old/key.asc") == "keys that sign releases"
    with Workspace(tmp_path, readable=readable) as workspace:
        assert [entry.path for entry in workspace.scan()] == ["src"]
