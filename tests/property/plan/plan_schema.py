# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds answers against schemas/plan_file.schema.json, where python3-jsonschema is there."""
import json
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../schemas/plan_file.schema.json")


def damaged(answer):
    """The answer with each member gone, each of another type, and with one too many."""
    for key in answer:
        yield {k: v for k, v in answer.items() if k != key}
        yield answer | {key: True}
    yield answer | {"more": 1}


def fault(answers):
    """What the schema refuses of the answers, or accepts of damaged ones; or None."""
    with open(PATH, encoding="utf-8") as file:
        schema = json.load(file)
    try:
        import jsonschema
    except ImportError:
        return None
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for answer in answers:
        for error in validator.iter_errors(answer):
            return f"{error.message[:200]} in {str(answer)[:200]}"
        for wrong in damaged(answer) if len(str(answer)) < 10000 else ():
            if validator.is_valid(wrong):
                return f"accepts {str(wrong)[:200]}"
    kinds = {(next(iter(set(a) & {"decisions", "units", "save"})), a.get("status")) for a in answers}
    wanted = {("decisions", "optimal"), ("decisions", "infeasible"), ("decisions", "stopped"),
              ("units", "optimal"), ("units", "infeasible"), ("save", None)}
    return f"never seen: {wanted - kinds}" if wanted - kinds else None
