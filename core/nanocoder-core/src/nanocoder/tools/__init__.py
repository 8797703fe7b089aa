"""A tool: its definition, its context and its result."""
