"""What the sandbox gives the command of a call: by its mode, and by what the model asks for."""

from functools import lru_cache

from nanocoder import Access, Mode

from nanocoder_policy_rules.call_context import CallContext
from nanocoder_policy_rules.rules import SHELL


@lru_cache(maxsize=1)  # several steps ask about the same call
def granted_access(context: CallContext) -> Access | None:
    """Return what the processes of a call may change, None for a call without a sandbox.

    A person's own command runs as in their shell. A model gets what the mode gives, unless it asks
    for more.
    """
    if not context.sandbox:
        return None
    if context.call.typed:  # by a person, or by a program for one: the check of a task, say
        return Access.OUTSIDE if context.session.interactive else Access.WRITE
    if context.mode == Mode.PLAN:
        return Access.READ
    is_asking = context.mode == Mode.ASK and context.call.name == SHELL and trusts_sandbox(context)
    return context.requested or (Access.READ if is_asking else Access.WRITE)


def is_held(context: CallContext) -> bool:
    """Tell whether a sandbox keeps secret and protected files from the call's command."""
    return granted_access(context) in {Access.READ, Access.WRITE}


def may_use_sandbox(context: CallContext) -> bool:
    """Tell whether a command may run unasked because a sandbox holds it."""
    return trusts_sandbox(context) and is_held(context)


def trusts_sandbox(context: CallContext) -> bool:
    """Tell whether the settings let a sandbox stand in for a question."""
    settings = context.settings
    return settings.sandboxed == "allow" and not settings.only_managed_allow
