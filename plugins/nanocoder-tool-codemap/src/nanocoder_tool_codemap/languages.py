"""The languages: their files, their grammars, and the definitions to find in each."""

from importlib import import_module
from typing import Any

from attrs import frozen
from tree_sitter import Language, Parser, Query

EXTENSIONS = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
}

_JAVASCRIPT = """
(function_declaration name: (identifier) @function)
(generator_function_declaration name: (identifier) @function)
(method_definition name: (_) @method)
(variable_declarator name: (identifier) @function value: [
  (arrow_function) (function_expression) (generator_function)])
(program (lexical_declaration (variable_declarator name: (identifier) @constant value: [
  (number) (string) (template_string) (true) (false) (null) (array) (object) (new_expression)
  (unary_expression) (binary_expression)])))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @constant
  value: [(number) (string) (template_string) (true) (false) (null) (array) (object)
    (new_expression) (call_expression) (unary_expression) (binary_expression)]))))
(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
(call_expression function: [(identifier) (import)] @_call
  arguments: (arguments . (string (string_fragment) @import))
  (#any-of? @_call "require" "import"))
[(comment) (string_fragment)] @noise
"""
_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(function_signature name: (identifier) @function)
(class_declaration name: (type_identifier) @class)
(abstract_class_declaration name: (type_identifier) @class)
(interface_declaration name: (type_identifier) @interface)
(type_alias_declaration name: (type_identifier) @type)
(enum_declaration name: (identifier) @enum)
(internal_module name: (identifier) @namespace)
(abstract_method_signature name: (_) @method)
(public_field_definition name: (_) @method value: [(arrow_function) (function_expression)])
"""
)

QUERIES = {
    "python": """
(class_definition name: (identifier) @class)
(function_definition name: (identifier) @function)
(module (expression_statement (assignment left: (identifier) @constant)))
(import_statement) @import
(import_from_statement) @import
[(comment) (string_content)] @noise
""",
    "javascript": _JAVASCRIPT
    + """
(class_declaration name: (identifier) @class)
(field_definition property: (_) @method value: [(arrow_function) (function_expression)])
""",
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": """
(function_declaration name: (identifier) @function)
(method_declaration name: (field_identifier) @method)
(type_spec name: (type_identifier) @type)
(type_alias name: (type_identifier) @type)
(source_file (const_declaration (const_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @constant))))
(import_spec path: (_) @import)
[(comment) (interpreted_string_literal) (raw_string_literal)] @noise
""",
    "rust": """
(function_item name: (identifier) @function)
(function_signature_item name: (identifier) @function)
(struct_item name: (type_identifier) @struct)
(enum_item name: (type_identifier) @enum)
(union_item name: (type_identifier) @struct)
(trait_item name: (type_identifier) @trait)
(type_item name: (type_identifier) @type)
(impl_item type: (_) @impl)
(macro_definition name: (identifier) @macro)
(const_item name: (identifier) @constant)
(static_item name: (identifier) @constant)
(mod_item name: (identifier) @module)
(use_declaration argument: (_) @import)
(mod_item !body name: (identifier) @import)
[(line_comment) (block_comment) (string_content)] @noise
""",
}
CONTAINERS = frozenset({"class", "interface", "trait", "impl", "struct"})


@frozen
class Grammar:
    """A parser and the query for one language."""

    parser: Any
    query: Any


def language_of(name: str) -> str:
    """Return the language of a file by its *name*; "" for a file that is not read."""
    dot = name.rfind(".")
    return EXTENSIONS.get(name[dot:].lower(), "") if dot > 0 else ""


def load(language: str) -> Grammar:
    """Load the grammar of *language*; its library is imported here and not before."""
    library = Language(_capsule(language))
    return Grammar(Parser(library), Query(library, QUERIES[language]))


def _capsule(language: str) -> Any:
    if language in {"typescript", "tsx"}:
        import tree_sitter_typescript

        return getattr(tree_sitter_typescript, f"language_{language}")()
    return import_module(f"tree_sitter_{language}").language()
