"""Files and texts of a workspace for tools: globs, encodings, diffs, redaction, tables."""
