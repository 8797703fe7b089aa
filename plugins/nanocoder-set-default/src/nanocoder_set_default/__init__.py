"""A list of plugins and nothing else: what `pip install nanocoder-set-default` brings."""
