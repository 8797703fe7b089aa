"""Every exception nanocoder raises.

* NanocoderError            carries an error_class: a stable identifier that scripts may rely on
  * PersonError             a person reads this and changes something
    * UsageError            … the command line or a Python argument
    * ConfigError           … a configuration file, an environment variable
    * PluginError           … a plugin, which is named
      * StopRun             … nothing: the plugin ends the run, for a reason
    * ProviderError         … the model's side: a key, a name, an address, or time
  * ToolError               the model reads this and tries something else
    * BadArguments          … because its arguments do not fit the schema
    * UnknownTool           … because there is no such tool
    * WorkspaceError        … because the path may not, or cannot, be used
    * Denied                … because a policy or a person said no
    * ApprovalNeeded        … because no person is there to say yes
    * TimedOut              … because it took too long
    * Cancelled             … because a person interrupted it
"""

from nanocoder_schema import PersonError, ToolError


class PluginError(PersonError):
    """A plugin broke a rule or failed; *plugin* is its name."""

    error_class = "plugin"
    exit_code = 2

    def __init__(self, plugin: str, message: str) -> None:
        super().__init__(f"plugin {plugin!r}: {message}")
        self.plugin = plugin
        self.problem = message


class StopRun(PluginError):
    """Raised by a plugin in `nanocoder_before_request` to end the run instead of asking the model.

    *reason* is the `StopReason` that the report gets ("failed" for any other text), *message* the
    sentence that explains it.
    """

    def __init__(self, plugin: str, message: str, reason: str) -> None:
        super().__init__(plugin, message)
        self.reason = reason


class ProviderError(PersonError):
    """The request to the model failed, or its reply broke off.

    *kind* is one of auth, rate_limit, quota, overloaded, not_found, bad_request, context_overflow,
    media (a picture or another file), empty_response, network, protocol, unavailable. *status* is
    the HTTP status if there was one, *retry_after_s* the wait in seconds that the server asked for.
    *retry* tells whether another try may succeed; None: the kind decides.
    """

    error_class = "provider"
    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        kind: str = "unavailable",
        status: int = 0,
        retry_after_s: float | None = None,
        retry: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after_s = retry_after_s
        self.retry = retry


class UnknownTool(ToolError):
    """No tool has this name."""

    error_class = "unknown_tool"


class Denied(ToolError):
    """A policy denied the call, or a person rejected it."""

    error_class = "denied"


class ApprovalNeeded(ToolError):
    """The call needs approval, and no person is there to give it."""

    error_class = "approval_needed"


class TimedOut(ToolError):
    """The call exceeded its time limit and was ended."""

    error_class = "timeout"


class Cancelled(ToolError):
    """A person interrupted the call."""

    error_class = "cancelled"
