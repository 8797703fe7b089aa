"""Validate JSON by a JSON Schema, in a program of its own, because some checks would never end.

Its argument is the folder of the package jsonschema_rs. It reads `{"schema": …, "answers": [JSON
text, …]}` and prints `{"refusal": …, "problems": […]}`: the reason that the schema cannot be used
("" if it can), and the problem of each answer.
"""

import json
import sys
from typing import Any, Final

MAX_PROBLEMS: Final = 5
PROBLEM_CHARS: Final = 500
OUTSIDE: Final = "it refers to another document; only references within the schema are followed"


def main() -> None:
    """Answer the request on standard input."""
    sys.path.append(sys.argv[1])
    import jsonschema_rs  # from the folder above, the only one on this interpreter's path

    request = json.load(sys.stdin)
    refusal, problems = "", []
    try:
        jsonschema_rs.meta.validate(request["schema"])
        validator = jsonschema_rs.validator_for(request["schema"], retriever=_refuse)
        problems = [_problems_of(validator, json.loads(text)) for text in request["answers"]]
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        refusal = OUTSIDE if OUTSIDE in str(error) else str(error).partition("\n")[0]
    json.dump({"refusal": refusal[:PROBLEM_CHARS], "problems": problems}, sys.stdout)


def _problems_of(validator: Any, answer: Any) -> str:
    errors = zip(range(MAX_PROBLEMS), validator.iter_errors(answer), strict=False)
    problems = [
        f"{'/'.join(map(str, error.instance_path)) or 'the answer'}:"
        f" {error.message[:PROBLEM_CHARS]}"
        for _, error in errors
    ]
    return f"{'; '.join(problems)}." if problems else ""


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri}: {OUTSIDE}")


if __name__ == "__main__":
    main()
