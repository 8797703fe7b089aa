"""The hooks: what a plugin can implement, how its answers are combined, what it offers."""
