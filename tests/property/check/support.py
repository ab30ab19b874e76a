# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the gate share: running the program, a small model, schemas, counting."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

TOP = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else str(TOP / "build/release/memscope")

try:
    import jsonschema
except ImportError:
    jsonschema = None

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 1024,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "torch_dtype": "bfloat16",
}


def run(*words, cwd=None, **more):
    """The program's exit code and output; the environment holds no CI of ours."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "COLUMNS"))}
    environment.update(more)
    done = subprocess.run([PROGRAM, *words], cwd=cwd, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300)
    return done.returncode, done.stdout, done.stderr


def write(folder, name, value):
    path = pathlib.Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2) + "\n")
    return path


def schema(name):
    return json.loads((TOP / "schemas" / f"{name}.schema.json").read_text())


def is_valid(value, name):
    """Whether the schema takes the value; None where there is no validator."""
    return None if jsonschema is None else jsonschema.Draft7Validator(schema(name)).is_valid(value)


def assert_valid(value, name):
    if jsonschema:
        jsonschema.Draft7Validator(schema(name)).validate(value)


def main(namespace):
    """Runs every test_... of the module, each in a folder of its own."""
    passed = failed = 0
    for name, test in sorted(namespace.items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                passed += 1
            except Exception:  # whatever is wrong is told, and the others go on
                failed += 1
                print(f"{name}: failed")
                traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
