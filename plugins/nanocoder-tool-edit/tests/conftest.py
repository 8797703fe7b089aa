"""`pytest plugins/nanocoder-tool-edit --hypothesis-profile=thorough` plays 10,000 cases each."""

from hypothesis import settings

settings.register_profile("thorough", max_examples=10_000, deadline=None)
