"""The default set: only a list of plugins, installed by `pip install nanocoder-set-default`."""
