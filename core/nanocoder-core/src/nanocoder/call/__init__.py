"""The one path of a call, from the model's arguments to the result."""
