"""Talk with servers of models: streaming HTTP, prices, and replies held to a form."""
