"""Kinds of files by the names of their languages: the same with and without ripgrep."""

from collections.abc import Mapping

from nanocoder import nearest

TYPES: Mapping[str, tuple[str, ...]] = {
    "c": ("*.c", "*.h"),
    "cmake": ("*.cmake", "CMakeLists.txt"),
    "cpp": ("*.cc", "*.cpp", "*.cxx", "*.h", "*.hh", "*.hpp", "*.hxx"),
    "csharp": ("*.cs",),
    "css": ("*.css", "*.less", "*.sass", "*.scss"),
    "dart": ("*.dart",),
    "docker": ("*.dockerfile", "Dockerfile*"),
    "elixir": ("*.ex", "*.exs"),
    "go": ("*.go",),
    "haskell": ("*.hs", "*.lhs"),
    "html": ("*.htm", "*.html"),
    "java": ("*.java",),
    "js": ("*.cjs", "*.js", "*.jsx", "*.mjs", "*.vue"),
    "json": ("*.json", "*.jsonl"),
    "kotlin": ("*.kt", "*.kts"),
    "lua": ("*.lua",),
    "make": ("*.mak", "*.mk", "GNUmakefile", "Makefile*", "makefile*"),
    "md": ("*.markdown", "*.md", "*.mdx"),
    "perl": ("*.pl", "*.pm"),
    "php": ("*.php",),
    "proto": ("*.proto",),
    "py": ("*.py", "*.pyi"),
    "r": ("*.R", "*.Rmd", "*.r"),
    "ruby": ("*.gemspec", "*.rake", "*.rb", "Gemfile", "Rakefile"),
    "rust": ("*.rs",),
    "scala": ("*.sbt", "*.scala"),
    "sh": ("*.bash", "*.sh", "*.zsh"),
    "sql": ("*.sql",),
    "swift": ("*.swift",),
    "toml": ("*.toml",),
    "ts": ("*.cts", "*.mts", "*.ts", "*.tsx"),
    "txt": ("*.txt",),
    "xml": ("*.xml", "*.xsd", "*.xsl"),
    "yaml": ("*.yaml", "*.yml"),
    "zig": ("*.zig",),
}

ALIASES: Mapping[str, str] = {
    "bash": "sh",
    "c++": "cpp",
    "cs": "csharp",
    "dockerfile": "docker",
    "golang": "go",
    "javascript": "js",
    "jsx": "js",
    "kt": "kotlin",
    "makefile": "make",
    "markdown": "md",
    "python": "py",
    "rb": "ruby",
    "rs": "rust",
    "shell": "sh",
    "tsx": "ts",
    "typescript": "ts",
    "yml": "yaml",
}


def globs_of(name: str) -> tuple[str, ...]:
    """Return the globs that names of files of a type match; none for a name that is not known."""
    name = name.lower().removeprefix(".")
    return TYPES.get(ALIASES.get(name, name), ())


def nearest_types(name: str) -> list[str]:
    """Return the types with names similar to *name*, or all of them."""
    return nearest(name.lower(), [*TYPES, *ALIASES], cutoff=0.5) or list(TYPES)
