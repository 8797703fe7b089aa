"""The one path of a call, from the model's words to the result."""
