"""One session, from its first event to its last."""
