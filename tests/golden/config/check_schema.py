# SPDX-License-Identifier: GPL-3.0-or-later
"""Run files against schemas/run.schema.json: what the reader takes the schema takes, and what is
wrong by wording alone both refuse."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Wrong only beside the model, the device or another field: a schema cannot tell.
BEYOND_A_SCHEMA = {
    "run-seq-past-positions", "run-device", "run-checkpointing-past-last", "run-flash-fp32",
    "run-flash-on-t4", "run-flash-on-cpu", "run-cpu-flash-on-gpu", "run-cuda-on-cpu",
    "run-host-optimizer-on-cpu", "run-host-parameters-alone",
    "run-chunks-of-scaled-logits", "run-gemma2-flash", "run-gemma2-math",
    "run-latent-flash", "run-sinks-flash", "run-sinks-tile", "run-sinks-eager-experts",
    "run-experts-dense", "run-experts-unaligned", "run-routing-grouped", "run-tile-experts", "run-split-raw", "run-model-unknown", "run-model-missing-file", "run-inline-model",
    "run-seq-of-image", "run-classes-without-padding", "run-flash-falcon", "run-tile-opt",
    "run-tile-attention-falcon", "run-chunk-classes",
    "run-optimizer-impl", "run-optimizer-on-cpu", "run-optimizer-on-host",
    "run-in-backward-accumulate", "run-in-backward-clip", "run-in-backward-tiles",
    "run-empty-cache-cpu", "run-eval-logits-alone", "run-liger-cpu", "run-liger-family", "run-liger-keep",
    "run-smoothing-chunks", "run-smoothing-head", "run-sum-host",
    "run-parallel-autocast", "run-parallel-cpu", "run-parallel-huge", "run-parallel-other-option",
    "run-parallel-pipeline", "run-parallel-product", "run-parallel-rank",
    "run-batch-fraction",  # 4.0 is an integer to JSON Schema
}


def cases():
    for folder in sorted((ROOT / "tests/golden/config/invalid").glob("run-*")):
        yield folder.name, folder / "memscope.run.json", folder.name in BEYOND_A_SCHEMA
    for path in sorted((ROOT / "tests/golden/config").glob("runs/*.json")):
        yield path.stem, path, True


def main():
    schema = json.loads((ROOT / "schemas/run.schema.json").read_text())
    try:
        import jsonschema
    except ImportError:
        print("schema: skipped, no python3-jsonschema")
        print("0 passed, 0 failed")
        return 0
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    passed = failed = 0
    for name, path, valid in cases():
        errors = list(validator.iter_errors(json.loads(path.read_text())))
        if valid == (not errors):
            passed += 1
        else:
            failed += 1
            print(f"{name}: the schema {'refuses' if errors else 'accepts'} it",
                  *(error.message for error in errors))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
