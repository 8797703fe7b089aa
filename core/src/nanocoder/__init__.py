"""nanocoder: a coding agent for the terminal in which every capability is a plugin."""
