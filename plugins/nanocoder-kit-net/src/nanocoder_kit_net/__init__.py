"""Fetching web addresses that a model chose: every connection is checked, every size bounded.

Importing this module does not import httpcore; the first request does.
"""

from nanocoder_kit_net.answer import Answer
from nanocoder_kit_net.fetch import Limits, fetch
from nanocoder_kit_net.guard import Guard, is_public
from nanocoder_kit_net.rate_limit import RateLimit
from nanocoder_kit_net.rules import HostRule, Rule, parse_host_rules, parse_rules
from nanocoder_kit_net.target import Target, parse_url

__all__ = [
    "Answer",
    "Guard",
    "HostRule",
    "Limits",
    "RateLimit",
    "Rule",
    "Target",
    "fetch",
    "is_public",
    "parse_host_rules",
    "parse_rules",
    "parse_url",
]
