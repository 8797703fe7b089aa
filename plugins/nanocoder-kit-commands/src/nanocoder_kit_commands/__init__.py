"""Commands of a conversation, from files and from plugins: what they are, and how they are read."""
