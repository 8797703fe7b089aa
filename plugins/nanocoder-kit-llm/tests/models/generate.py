"""Write the tables of models from the package genai-prices: `nox -s models`, at each release."""

import datetime as dt
import json
import re
import runpy
import sys
from importlib.metadata import version
from pathlib import Path

from genai_prices import data

TABLES = Path(__file__).parents[2] / "src/nanocoder_kit_llm/models/vendors"
VENDORS = (
    "anthropic",
    "openai",
    "google",
    "azure",
    "deepseek",
    "groq",
    "mistral",
    "openrouter",
    "together",
    "x-ai",
)
# Vendors sell the models of others, too; only these are asked for under their own protocol.
OWN = {"anthropic": "claude", "google": "gemini|gemma"}
NO_CHAT = re.compile(
    r"embed|whisper|tts|transcribe|realtime|image|audio|moderation|dall-e|ocr|voice|live|speech"
    r"|davinci|babbage|curie|ada\b|instruct-?$|orpheus|rerank"
)
# From the vendors' pages on vision, documents and reasoning, November 2026: by model name.
ABILITIES = {
    "images": (
        r"claude-(3|[a-z]+-[4-9]|4)|claude-(fable|mythos)|gpt-4o|gpt-4\.|gpt-4-turbo|gpt-[5-9]"
        r"|\bo[134](?!-mini-?(2024|$)|1)|gemini|gemma-?[34]|pixtral|mistral-(small|medium|large)"
        r"|llama-4|grok-(4|2-vision)|-vl\b|vision"
    ),
    "pdf": (
        r"claude-(3-[57]|[a-z]+-[4-9]|4)|claude-(fable|mythos)|gpt-4o|gpt-4\.1|gpt-[5-9]"
        r"|gemini-(1\.5|[2-9])"
    ),
    "thinking": (
        r"claude-(3-7|[a-z]+-[4-9]|4)|claude-(fable|mythos)|gpt-[5-9]|gpt-oss|\bo[134]\b"
        r"|gemini-(2\.5|[3-9])|deepseek-(reasoner|r1|v3\.[12]|v4)|magistral|grok-(3-mini|4)|qwen3"
    ),
}


def tables():
    """Return each vendor's table: one row for each model that takes a conversation."""
    providers = {provider.id: provider for provider in data.providers}
    source = f"genai-prices {version('genai-prices')} (MIT)"
    head = {"source": source, "date": TODAY.isoformat()}
    return {vendor: {**head, "models": list(rows(providers[vendor]))} for vendor in VENDORS}


def rows(provider):
    own = re.compile(OWN.get(provider.id, ""))
    for model in provider.models:
        if not own.match(model.id) or NO_CHAT.search(model.id):
            continue
        row = {"names": sorted({*names(model.match), *own_name(model)})}
        pattern = "|".join(dict.fromkeys(patterns(model.match)))
        row |= {"pattern": pattern} if pattern else {}
        row |= {"context": model.context_window} if model.context_window else {}
        abilities = [name for name, words in ABILITIES.items() if re.search(words, model.id)]
        row |= {"abilities": abilities} if abilities else {}
        if priced := prices(model):
            yield row | priced


def own_name(model):
    """Return the row's own name where it is one that can be asked for."""
    return [model.id.lower()] if model.is_match(model.id.lower()) else []


def names(clause):
    if hasattr(clause, "equals"):
        yield clause.equals.lower()
    for part in getattr(clause, "or_", ()):
        yield from names(part)


def patterns(clause):
    for part in getattr(clause, "or_", ()):
        yield from patterns(part)
    if not hasattr(clause, "equals") and not hasattr(clause, "or_"):
        yield pattern_of(clause)


def pattern_of(clause):
    if hasattr(clause, "and_"):
        return "".join(
            f"(?={'' if part.startswith('^') else '.*'}{part})"
            for part in map(pattern_of, clause.and_)
        )
    if hasattr(clause, "or_"):
        return f"(?:{'|'.join(map(pattern_of, clause.or_))})"
    if hasattr(clause, "regex"):
        return clause.regex
    for name, shape in (
        ("equals", "^{}$"),
        ("starts_with", "^{}"),
        ("ends_with", "{}$"),
        ("contains", "{}"),
    ):
        if hasattr(clause, name):
            return shape.format(SPECIAL.sub(r"\\\g<0>", getattr(clause, name).lower()))
    raise TypeError(clause)


def prices(model):
    """Return the price of today, and those that are announced."""
    if not isinstance(model.prices, list):
        return price_row(model.prices)
    dated = [
        (getattr(item.constraint, "start_date", None), price_row(item.prices))
        for item in model.prices
        if item.constraint is None or hasattr(item.constraint, "start_date")
    ]
    first = [row for start, row in dated if start is None or start <= TODAY]
    later = [{"from": str(start)} | row for start, row in dated if start and start > TODAY and row]
    return first[-1] | ({"later": later} if later else {}) if first and first[-1] else {}


def price_row(price):
    kinds = {"input": price.input_mtok, "output": price.output_mtok}
    kinds |= {"cache_read": price.cache_read_mtok, "cache_write": price.cache_write_mtok}
    kinds = {name: value for name, value in kinds.items() if value is not None}
    if not {"input", "output"} <= set(kinds):
        return {}
    row = {name: plain(getattr(value, "base", value)) for name, value in kinds.items()}
    starts = sorted(
        {tier.start for value in kinds.values() for tier in getattr(value, "tiers", ())}
    )
    step = row
    for start in starts:
        step["above"] = {"tokens": start} | {
            name: plain(price_above(value, start)) for name, value in kinds.items()
        }
        step = step["above"]
    return row


def price_above(value, start):
    tiers = [tier.price for tier in getattr(value, "tiers", ()) if tier.start <= start]
    return tiers[-1] if tiers else getattr(value, "base", value)


def plain(number):
    return int(number) if number == int(number) else float(number)


def text(table):
    """Return the table as JSON with one model a line, so that a change is one line of a diff."""
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in table["models"])
    head = f'{{"source": {json.dumps(table["source"])}, "date": {json.dumps(table["date"])},\n'
    return f'{head}"models": [\n{lines}\n]}}\n'


SPECIAL = re.compile(r"[.+*?()\[\]{}|^$\\]")
TODAY = dt.datetime.now(dt.UTC).date()

if __name__ == "__main__":
    for vendor, table in tables().items():
        file = TABLES / f"{vendor}.json"
        file.write_text(text(table), encoding="utf-8")
        sys.stdout.write(f"{file}: {file.stat().st_size:,} bytes\n")
    # After the tables, because it reads the new ones.
    proposals = runpy.run_path(str(Path(__file__).with_name("defaults.py")))["proposals"]
    sys.stdout.writelines(f"{line}\n" for line in proposals())
