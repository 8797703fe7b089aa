"""Where a call runs: how deep among others, with whose consent, and on which files."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import define, field
from nanocoder_schema import Shown

from nanocoder.path.approval import Authorized
from nanocoder.tools.tool import ANY_TOOL, Tool
from nanocoder.values import Effect

if TYPE_CHECKING:
    from nanocoder_files import Snapshot, Workspace

    from nanocoder.path.transaction import Transaction


@define(eq=False, repr=False)
class Scope(Shown):
    """What one call hands on to its steps; it holds while the call is *active*.

    *snapshot* is of the files that a person saw before they agreed to the call.
    """

    consented: bool = False
    state: dict[str, Any] = field(factory=dict)
    depth: int = 0
    active: bool = True
    transaction: "Transaction | None" = None
    snapshot: "Snapshot | None" = None

    def inside(self, tool: Tool[..., Any], granted: Authorized) -> "Scope":
        """Return the scope of the steps of *tool*."""
        # Steps of a call that only the mode allowed are asked about where a rule wants that.
        is_one = tool.single_confirmation and ANY_TOOL not in tool.composed_of
        return Scope(
            consented=is_one and granted.consented,
            state=self.state if self.depth else {},
            depth=self.depth + 1,
            transaction=self.transaction,
            snapshot=granted.snapshot or self.snapshot,
        )

    def workspace(self, open_workspace: "Callable[[], Workspace]") -> "Workspace":
        """Return the workspace of the call: of its transaction, and with what a person saw."""
        workspace = self.transaction.workspace() if self.transaction else open_workspace()
        return workspace.expecting(self.snapshot) if self.snapshot else workspace

    def ran(self, tool: Tool[..., Any]) -> None:
        """Expect nothing of files any more when a step may have changed any of them."""
        if self.snapshot and Effect.EXECUTE in tool.effects:
            self.snapshot.clear()
