"""Fetching web addresses that a model chose: every connection is checked, every size bounded.

A host is looked up once, all its addresses must be public, and the connection goes to one of them.
Loopback, private, link-local, reserved and tunnel networks are not public. Each redirect is checked
like the first address; only http and https. No proxy variable, .netrc, cookie or user name is sent.
One deadline covers everything, and a cap the unpacked body.

Importing this module does not import httpcore; the first request does.
"""

from nanocoder_kit_llm.net.answer import Answer
from nanocoder_kit_llm.net.fetch import Limits, fetch
from nanocoder_kit_llm.net.guard import Guard, is_public
from nanocoder_kit_llm.net.rate_limit import RateLimit
from nanocoder_kit_llm.net.rules import HostRule, Rule, parse_host_rules, parse_rules
from nanocoder_kit_llm.net.target import Target, parse_url

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
