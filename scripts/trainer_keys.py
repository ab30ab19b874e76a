#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists the keys of trainers' settings files, with their defaults, from the trainers' own sources.

usage: trainer_keys.py PACKAGE=VERSION:FOLDER... > tests/oracle/trainers/keys.json

PACKAGE is one of those in SOURCES below, FOLDER where its Python package is (of torchtune: its
checkout). The answer is {format: {"version": ..., "keys": {key: [default, where]}}}: sections of a
key are separated by "/", null stands for None, "?" for a default that no literal says, and `where`
is the class or the file that has the key; of several the first that says a default. Sources are
read, not run.
"""
import ast
import glob
import json
import os
import sys

CALLS_OF_FIELDS = ("field", "Field", "PydanticField")
EMPTY = {"list": "[]", "dict": "{}", "tuple": "[]", "set": "[]"}
UNKNOWN = "?"


# ---- values ----

def literal(node):
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return UNKNOWN
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    return json.dumps(value, default=list)


def made_by(factory):
    """The default that a factory makes: list, dict, or a lambda of a literal."""
    if isinstance(factory, ast.Lambda):
        return literal(factory.body)
    return EMPTY.get(factory.id, UNKNOWN) if isinstance(factory, ast.Name) else UNKNOWN


def default_of(node):
    if node is None:
        return UNKNOWN
    if not isinstance(node, ast.Call):
        return literal(node)
    for keyword in node.keywords:
        if keyword.arg in ("default", "default_factory"):
            return literal(keyword.value) if keyword.arg == "default" else made_by(keyword.value)
    is_field = ast.unparse(node.func).split(".")[-1] in CALLS_OF_FIELDS
    if not is_field or not node.args:
        return UNKNOWN
    first = node.args[0]  # DeepSpeed prints numbers its own way: pp_int(5e8)
    return literal(first.args[0] if isinstance(first, ast.Call) and first.args else first)


def alias_of(node):
    """The name that a field has in a file, where it is another than the member's."""
    for keyword in node.keywords if isinstance(node, ast.Call) else ():
        if keyword.arg == "alias":
            return literal(keyword.value)
    return None


# ---- files ----

def trees_of(folder, pattern):
    paths = sorted(glob.glob(os.path.join(folder, pattern), recursive=True))
    if not paths:
        sys.exit(f"{folder}: no {pattern}")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield path, ast.parse(file.read())


# ---- members of classes ----

def members_of(node):
    """(name, default, annotation) of the annotated members that are no class variables."""
    for member in node.body:
        if not isinstance(member, ast.AnnAssign) or not isinstance(member.target, ast.Name):
            continue
        kind = ast.unparse(member.annotation)
        if "ClassVar" not in kind and not member.target.id.startswith("_"):
            yield alias_of(member.value) or member.target.id, default_of(member.value), kind


def names_in(annotation):
    """The names in an annotation, also in one that is quoted."""
    tree = ast.parse(annotation.strip("'\""), mode="eval")
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def walk_class(classes, name, section, seen):
    """Keys of a class, of its bases, and in sections of the classes of its members. A class that
    takes the place of another of its name is itself the base."""
    if name not in classes or name in seen:
        return
    node = classes[name]
    for key, default, annotation in members_of(node):
        yield section + key, default, name
        for inner in names_in(annotation):
            yield from walk_class(classes, inner, f"{section}{key}/", seen | {name})
    for base in node.bases:
        yield from walk_class(classes, ast.unparse(base).split(".")[-1], section, seen | {name})


def outermost(classes):
    """Those that are no section of another."""
    inner = {name for node in classes.values() for _, _, annotation in members_of(node)
             for name in names_in(annotation)}
    return sorted(set(classes) - inner)


def of_classes(pattern, *roots, section=""):
    """Keys of these classes in the files that match; without names, of all but inner ones."""
    def read(folder):
        classes = {}
        for _, tree in trees_of(folder, pattern):
            classes.update((node.name, node) for node in ast.walk(tree)
                           if isinstance(node, ast.ClassDef))
        for root in roots or outermost(classes):
            yield from walk_class(classes, root, section, frozenset())
    return read


# ---- what a program reads from a dictionary ----

def constants_of(folder, path):
    """Texts and numbers with a name in the file and in constants.py beside it."""
    named = {}
    beside = os.path.join(os.path.dirname(path), "constants.py")
    for name in filter(os.path.isfile, dict.fromkeys([beside, path])):
        for _, tree in trees_of(folder, os.path.relpath(name, folder)):
            for node in tree.body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    value = literal(node.value)
                    if value != UNKNOWN:
                        named[node.targets[0].id] = value
    return named


def path_of(node, name, named):
    """The keys that lead from the object `name` to this expression; None: from another object."""
    if isinstance(node, ast.Name):
        return [] if node.id == name else None
    if isinstance(node, ast.Attribute) and name == "cfg":  # of OmegaConf, whose keys are attributes
        before = path_of(node.value, name, named)
        return None if before is None else before + [node.attr]
    if isinstance(node, ast.Subscript):
        before, key = path_of(node.value, name, named), text_of(node.slice, named)
        return None if before is None or key is None else before + [key]
    return None


def text_of(node, named):
    value = named.get(node.id) if isinstance(node, ast.Name) else literal(node)
    return value if isinstance(value, str) and value != UNKNOWN else None


def default_in(node, named):
    if isinstance(node, ast.Name):
        return named.get(node.id, UNKNOWN)
    return literal(node)


def read_by_call(node, name, named):
    """cfg.get("key", default), and DeepSpeed's get_scalar_param(param_dict, KEY, DEFAULT)."""
    is_get = isinstance(node.func, ast.Attribute) and node.func.attr == "get"
    is_scalar = isinstance(node.func, ast.Name) and node.func.id == "get_scalar_param"
    arguments = ([node.func.value] if is_get else []) + node.args
    if not (is_get or is_scalar) or len(arguments) < 2:
        return None
    before, key = path_of(arguments[0], name, named), text_of(arguments[1], named)
    if before is None or key is None:
        return None
    return before + [key], default_in(arguments[2], named) if len(arguments) > 2 else None


METHODS = {"get", "keys", "items", "pop", "copy", "values"}


def of_reads(pattern, name, section=""):
    """Keys that the files read from the dictionary `name`."""
    def read(folder):
        for path, tree in trees_of(folder, pattern):
            named = constants_of(folder, path)
            found = {}
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    call = read_by_call(node, name, named)
                    if call:
                        found["/".join(call[0])] = call[1]
                elif isinstance(node, (ast.Subscript, ast.Attribute)):
                    keys = path_of(node, name, named)
                    if keys and not METHODS & set(keys):
                        found.setdefault("/".join(keys), UNKNOWN)
            for key, default in found.items():
                yield section + key, default, os.path.basename(path)
    return read


def of_constants(pattern, *names, section=""):
    """Keys that constants of a file name, with their NAME_DEFAULT."""
    def read(folder):
        for path, _ in trees_of(folder, pattern):
            named = constants_of(folder, path)
            for name in names:
                default = named.get(name + "_DEFAULT", UNKNOWN)
                yield section + named[name], default, os.path.basename(path)
    return read


# ---- options of a command ----

def of_options(pattern):
    """Keys of accelerate's sections: an option of the group NAME_args is one of NAME_config."""
    def read(folder):
        for path, tree in trees_of(folder, pattern):
            for node in ast.walk(tree):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                    continue
                group, is_option = ast.unparse(node.func.value), node.func.attr == "add_argument"
                option = text_of(node.args[0], {}) if is_option and node.args else None
                if not option or not group.endswith("_args"):
                    continue
                key = option.lstrip("-")
                section = group[:-len("_args")].removesuffix("_config") + "_config"
                if key.startswith("dynamo_"):
                    section = "dynamo_config"
                if section in SECTIONS_OF_ACCELERATE:
                    yield f"{section}/{key}", default_of(node), os.path.basename(path)
    return read


SECTIONS_OF_ACCELERATE = ("deepspeed_config", "fsdp_config", "megatron_lm_config", "fp8_config",
                          "parallelism_config", "dynamo_config", "mpirun_config")


# ---- settings files ----

def of_files(pattern):
    """Keys in the settings files that a trainer publishes, where it has no classes of them."""
    def walk(value, section, path):
        for key, inner in value.items():
            yield section + key, UNKNOWN, path
            if isinstance(inner, dict):
                yield from walk(inner, f"{section}{key}/", path)

    def read(folder):
        import yaml  # nothing else here needs it
        for path in sorted(glob.glob(os.path.join(folder, pattern), recursive=True)):
            with open(path, encoding="utf-8") as file:
                value = yaml.safe_load(file)
            if isinstance(value, dict) and "optimizer" in value:  # of a training
                yield from walk(value, "", os.path.basename(path))
    return read


# ---- all of it ----

PRECISION = "runtime/precision_config.py"

# Of each format the packages with their sources, in the order in which their defaults count.
SOURCES = {
    "hf": {
        "transformers": [of_classes("training_args.py", "TrainingArguments")],
        "trl": [of_classes("trainer/*_config.py"), of_classes("experimental/**/*_config.py"),
                of_classes("scripts/utils.py", "ScriptArguments", "DatasetMixtureConfig")],
        "open_r1": [of_classes("configs.py", "GRPOScriptArguments", "GRPOConfig", "SFTConfig"),
                    of_classes("configs.py", "DatasetMixtureConfig", section="dataset_mixture/")],
    },
    "accelerate": {
        "accelerate": [of_classes("commands/config/config_args.py", "ClusterConfig",
                                  "SageMakerConfig"),
                       of_options("commands/launch.py")],
    },
    "deepspeed": {
        "deepspeed": [
            of_reads("runtime/config.py", "param_dict"),
            of_constants("runtime/constants.py", "COMMUNICATION_DATA_TYPE",
                         "SEQ_PARALLEL_COMMUNICATION_DATA_TYPE", "VOCABULARY_SIZE"),
            of_constants("runtime/constants.py", "GRAD_ACCUM_DTYPE", "PARAM_DTYPE", "BUFFER_DTYPE",
                         "KEEP_IN_FP32_MODULES", section="data_types/"),
            of_constants("runtime/constants.py", "LOAD_UNIVERSAL_CHECKPOINT",
                         "USE_NODE_LOCAL_STORAGE_CHECKPOINT", "CHECKPOINT_PARALLEL_WRITE",
                         section="checkpoint/"),
            of_constants("runtime/data_pipeline/constants.py", "DATA_EFFICIENCY"),
            of_constants("autotuning/constants.py", "AUTOTUNING"),
            of_constants("datastates/config.py", "DATASTATES_CHECKPOINTING"),
            of_constants("utils/config.py", "TIMERS"),
            of_classes("runtime/z*/*config.py", "DeepSpeedZeroConfig",
                       section="zero_optimization/"),
            of_classes(PRECISION, "DeepSpeedBF16Config", section="bf16/"),
            of_classes(PRECISION, "DeepSpeedFP16Config", section="fp16/"),
            of_reads("runtime/activation_checkpointing/config.py", "act_chkpt_config_dict",
                     section="activation_checkpointing/"),
            of_reads("runtime/swap_tensor/aio_config.py", "aio_dict", section="aio/"),
            of_reads("runtime/model_checkpointing/config.py", "checkpoint_dict",
                     section="checkpoint/"),
            of_reads("profiling/config.py", "flops_profiler_dict", section="flops_profiler/"),
            of_classes("monitor/config.py", "DeepSpeedMonitorConfig"),
            of_classes("comm/config.py", "CommsLoggerConfig", section="comms_logger/"),
            of_classes("compile/config.py", "CompileConfig", section="compile/"),
            of_classes("runtime/tensor_parallel/config.py", "TPTrainingConfig",
                       section="tensor_parallel/"),
        ],
    },
    "axolotl": {"axolotl": [of_classes("utils/schemas/**/*.py", "AxolotlInputConfig"),
                            of_classes("integrations/*/args.py")]},
    "llamafactory": {
        "llamafactory": [of_classes("hparams/*.py", "ModelArguments", "DataArguments",
                                    "TrainingArguments", "FinetuningArguments",
                                    "GeneratingArguments", "MegatronBridgeArguments")],
        "transformers": [of_classes("training_args*.py", "Seq2SeqTrainingArguments")],
    },
    "llamafactory-v1": {
        "llamafactory": [
            of_classes("v1/config/*.py", "ModelArguments", "DataArguments", "TrainingArguments",
                       "SampleArguments"),
            of_classes("v1/plugins/model_plugins/peft.py", "LoraParams", "FreezeParams",
                       section="peft_config/"),
            of_classes("v1/plugins/model_plugins/quantization.py", "BnbParams",
                       section="quant_config/"),
            of_classes("v1/plugins/trainer_plugins/distributed/interface.py", "FSDP2Params",
                       "FSDPTurboParams", "DeepSpeedParams", section="dist_config/")],
    },
    "ms-swift": {
        "swift": [of_classes("trainers/arguments.py", "TrainArgumentsMixin"),
                  of_classes("arguments/**/*.py", "SftArguments", "PretrainArguments"),
                  of_classes("ray_utils/arguments.py", "RayArguments")],
        "transformers": [of_classes("training_args*.py", "Seq2SeqTrainingArguments")],
    },
    "torchtune": {"torchtune": [of_reads("recipes/*_[ds]*.py", "cfg"),
                                of_files("recipes/configs/**/*.yaml")]},
    "torchtitan": {"torchtitan": [of_classes("config/job_config.py", "JobConfig")]},
}


def keys_of(packages, folders):
    keys = {}
    for package, sources in packages.items():
        for read in sources:
            for key, default, where in read(folders[package]):
                known = keys.get(key)
                if not known or (known[0] == UNKNOWN and default != UNKNOWN):
                    keys[key] = [default, where]
    return dict(sorted(keys.items()))


def main():
    versions, folders = {}, {}
    for word in sys.argv[1:]:
        package, _, rest = word.partition("=")
        versions[package], _, folders[package] = rest.partition(":")
    formats = {}
    for name, packages in SOURCES.items():
        if all(package in folders for package in packages):
            said = ", ".join(f"{package} {versions[package]}" for package in packages)
            formats[name] = {"version": said, "keys": keys_of(packages, folders)}
    if not formats:
        sys.exit(__doc__)
    rows = [f'"{name}": {{"version": {json.dumps(one["version"])}, "keys": {{\n' + ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value)}" for key, value in one["keys"].items()) + "}}"
        for name, one in formats.items()]
    print("{" + ",\n".join(rows) + "}")


main()
