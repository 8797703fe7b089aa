"""nanocoder: a coding agent for the terminal in which every capability is a plugin.

Everything a plugin needs is a name of this module; names load their room when they are first used,
because a command that needs none of them should not wait for them.
"""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder.session.api": "open_session",
    "nanocoder.cancel": "Cancel",
    "nanocoder.cli.host": "Host",
    "nanocoder.config.config": "Config",
    "nanocoder.config.document": "ConfigFile project_file read_project_bytes read_user_file",
    "nanocoder.config.places": "state_dir",
    "nanocoder.config.trust": "read_trusted trust_entry",
    "nanocoder.errors": """
        ApprovalNeeded Cancelled ConfigError Denied PersonError PluginError ProviderError StopRun
        TimedOut UnknownTool UsageError
    """,
    "nanocoder.hooks.specs": "hookimpl",
    "nanocoder.session.session": "Session",
    "nanocoder.hooks.contributions": """
        Argument Command Dialect Display Journal OpenSandbox Resource Sandbox Screen Sessions Store
        StoredSession
    """,
    "nanocoder.plugins": "Plugins",
    "nanocoder.plugins.discovery": "start_files",
    "nanocoder.plugins.packages": "known_packages",
    "nanocoder.provider": """
        Finished ModelInfo Notice Provider ProviderSpec Request Retrying TextDelta ThinkingDelta
        ToolDefinition
    """,
    "nanocoder.session.models": "Chosen choose_model key_source open_provider usable",
    "nanocoder.session.installed": "start_notices",
    "nanocoder.session.conversation": "encode_message message_tokens spoken",
    "nanocoder.text": """
        OutputLimit brief clip clip_output count_tokens repeats_itself without_password
    """,
    "nanocoder.tools.session_info": "CallLimit ChildSession SessionInfo",
    "nanocoder.tools.tool": "Tool ToolContext ToolInfo tool",
    "nanocoder.values": """
        FIELD_TYPES ApprovalAnswer ApprovalRequest Attachment Decision Effect Event Message Mode
        Question Risk StopReason ToolCall ToolResult Usage Verdict
    """,
    "nanocoder.version": "__version__",
    "nanocoder_files": """
        Entry Files LeftOut PathFilter Protection ProtectionKind Readable ResolvedPath TextFile
        WalkRules Workspace WorkspaceError Written escape_path fold_name glob_expression named_paths
        unescape_path
    """,
    "nanocoder_schema": """
        BadArguments NanocoderError Param Signature ToolError counted did_you_mean for_model
        for_terminal nearest one_line parse_json structure
    """,
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
