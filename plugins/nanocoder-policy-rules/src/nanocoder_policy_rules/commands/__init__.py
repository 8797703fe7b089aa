"""The commands `nanocoder grants …`: what the person granted, and how to take it back."""

from argparse import Namespace

from attrs import asdict
from nanocoder import Host, UsageError, counted, did_you_mean
from nanocoder_kit_table import print_table

from nanocoder_policy_rules import grant_file
from nanocoder_policy_rules.grant_file import Grant, moment


def list_grants(arguments: Namespace, host: Host) -> int:
    """Print every grant, the latest first; raises ConfigError for a broken file."""
    grants = sorted(grant_file.load(), key=lambda grant: -grant.since)
    if arguments.output == "json":
        host.print_json([{**asdict(each), "expired": each.has_expired} for each in grants])
    elif not grants:
        host.print_line("nothing is granted; answer a question with `a` to grant a rule")
    else:
        rows = [_row(grant, rule) for grant in grants for rule in grant.rules]
        print_table(("id", "rule", "where", "granted", "until"), rows)
    return 0


def _row(grant: Grant, rule: str) -> tuple[str, ...]:
    where = grant.folder or "everywhere"
    until = moment(grant.expires) if grant.expires else "no end"
    if grant.has_expired:
        until = f"expired {until}"
    return grant.id, rule, where, moment(grant.since), until


def revoke_grants(arguments: Namespace, host: Host) -> int:
    """Take grants back; raises UsageError for an ID that no grant has, and takes none back then."""
    ids = [grant.id for grant in grant_file.load()]
    if arguments.all and arguments.id:
        raise UsageError("give the IDs of grants or --all, not both")
    wanted_ids = ids if arguments.all else list(dict.fromkeys(arguments.id))
    if not wanted_ids and not arguments.all:
        raise UsageError("which grant? Give its ID, as `nanocoder grants list` shows it, or --all")
    if unknown := [each for each in wanted_ids if each not in ids]:
        hint = did_you_mean(unknown[0], ids, "; `nanocoder grants list` shows them all")
        raise UsageError(f"there is no grant {unknown[0]!r}{hint}")
    grant_file.revoke(wanted_ids)
    host.print_line(f"revoked {counted(len(wanted_ids), 'grant')}")
    return 0
