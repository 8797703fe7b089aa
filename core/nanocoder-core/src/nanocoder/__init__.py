"""nanocoder: a coding agent for the terminal in which every capability is a plugin.

Everything a plugin needs is a name of this module; names load their room when they are first used,
because a command that needs none of them should not wait for them.
"""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder.session.api": "open_session",
    "nanocoder.cancel": "Cancel",
    "nanocoder.cli.doctor": "core_checks print_checks",
    "nanocoder.cli.host": "Host",
    "nanocoder.config": "Config",
    "nanocoder_config": """
        ConfigFile cache_dir project_file read_project_bytes read_trusted read_user_file state_dir
        trust_entry user_config_dir
    """,
    "nanocoder_console": "Argument Command",
    "nanocoder.errors": """
        ApprovalNeeded Cancelled ConfigError Denied PersonError PluginError ProviderError StopRun
        TimedOut UnknownTool UsageError
    """,
    "nanocoder.hooks.specs": "STYLES hookimpl",
    "nanocoder.session.session": "Session",
    "nanocoder.hooks.contributions": """
        Dialect Display Journal OpenSandbox Resource Runner Sandbox Screen Sessions Store
        StoredSession
    """,
    "nanocoder.plugins": "Plugins",
    "nanocoder.path.in_flight": "digest_of",
    "nanocoder.plugins.packages": "known_packages",
    "nanocoder.provider": """
        Finished ModelInfo Notice Provider ProviderSpec Request Retrying TextDelta ThinkingDelta
        ToolDefinition Window
    """,
    "nanocoder.session.models": """
        Chosen choose_model key_source open_provider refuse_unknown_price usable
    """,
    "nanocoder.session.installed": "find_offer idle_policies misspelt remarks start_notices",
    "nanocoder.session.compaction": "Shortened",
    "nanocoder.session.conversation": "encode_message message_tokens spoken",
    "nanocoder.tools.session_info": "CallLimit ChildSession SessionInfo",
    "nanocoder.tools.tool": "Tool ToolContext ToolInfo tool",
    "nanocoder.values": """
        ApprovalAnswer ApprovalRequest Attachment Decision Effect Event Message Mode
        Question Risk StopReason ToolCall ToolResult Usage Verdict
    """,
    "nanocoder.version": "__version__",
    "nanocoder_files": """
        Entry Folder PathFilter Protection ProtectionKind Readable ResolvedPath Workspace
        WorkspaceError Written escape_path fold_name named_paths unescape_path
    """,
    "nanocoder_schema": """
        BadArguments NanocoderError OutputLimit Param Signature ToolError brief clip clip_output
        count_tokens counted did_you_mean for_model for_terminal nearest one_line parse_json
        repeats_itself structure without_password
    """,
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
