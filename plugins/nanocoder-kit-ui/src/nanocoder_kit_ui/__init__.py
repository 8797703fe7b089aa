"""Conversations with a person on any screen: commands, questions, Markdown, HTML."""
