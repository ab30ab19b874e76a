#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What is known of a family of models stands in its text below families/: no other file names a model type in quotes, but
# for those in the list below.
set -u
cd "$(dirname "$0")/.." || exit

# file word: why it is no fact of a family.
exceptions='
src/input/config/model/model_keys.c mamba: a word of layer_types
src/input/config/names/hub.c gpt2: a preset
src/input/config/names/hub.c phi: a part of names on the Hub
src/input/config/names/no_config.c llava: how names of models begin that are not predicted
src/model/vision/processors.c *: processors of images, as texts name them
src/serve/infer/llama/arch.c *: architectures, as llama.cpp names them
python/memscope/pytorch/loss.py *: made by scripts/python_tables.py from the facts of the families
python/memscope/pytorch/tiled_attention.py mamba: a module of a layer
'

types=$(grep -hoE '^model_type = "[^"]+"' families/*.family | sed 's/.*"\(.*\)"/\1/' | sort -u)
[ "$(echo "$types" | wc -l)" -gt 50 ] || {
    echo "the model types were not found below families" >&2
    exit 1
}
find src python/memscope -name '*.[ch]' -o -name '*.py' | sort | xargs awk -v types="$types" -v exceptions="$exceptions" '
    BEGIN {
        n = split(types, type, "\n")
        for (i = 1; i <= n; i++) is_type[type[i]] = 1
        n = split(exceptions, line, "\n")
        for (i = 1; i <= n; i++) if (split(line[i], part, /[ :]/) > 1) is_known[part[1], part[2]] = 1
    }
    /^[ \t]*(\*|\/\*)/ { next }
    {
        text = $0
        gsub(/\/\*.*\*\//, "", text)
        while (match(text, /"[^"]*"/)) {
            word = substr(text, RSTART + 1, RLENGTH - 2)
            text = substr(text, RSTART + RLENGTH)
            if (!(word in is_type)) continue
            used[FILENAME, word] = used[FILENAME, "*"] = 1
            if ((FILENAME, word) in is_known || (FILENAME, "*") in is_known) continue
            print FILENAME ":" FNR ": \"" word "\": facts of a family stand in its text" | "cat >&2"
            bad = 1
        }
    }
    END {
        for (key in is_known) if (!(key in used)) {
            split(key, part, SUBSEP)
            print "scripts/check_families.sh: " part[1] " has no \"" part[2] "\"" | "cat >&2"
            bad = 1
        }
        exit bad
    }'
