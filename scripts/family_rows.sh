#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the list of families from their texts: what a text is called, its model type and its classes. The rest is read
# from the text when a config asks for it. sh scripts/family_rows.sh families/*.family > families.c
set -eu
export LC_ALL=C

cat << 'END'
/* Made by scripts/family_rows.sh; do not edit. */
#include "model/families.h"

#include "model/evaluator/family.h"
#include "model/evaluator/user_families.h"

static const ms_family texts[] = {
END
awk '
    FNR == 1 { text = FILENAME; gsub(/.*\/|\.family$/, "", text); is_open = 0 }
    /^model_type = "/ {
        types++
        split($0, part, "\"")
        printf "    {.text_name = \"%s\", .model_type = \"%s\", .classes = {", text, part[2]
    }
    /^architectures = \{/ { is_open = 1 }
    is_open {
        line = $0
        while (match(line, /"[^"]*": "[a-z_]*"/)) {
            split(substr(line, RSTART, RLENGTH), part, "\"")
            printf "{\"%s\", MS_HEAD_%s},", part[2], toupper(part[4])
            line = substr(line, RSTART + RLENGTH)
        }
        if (line ~ /\}/) { is_open = 0; tables++; print "}}," }
    }
    END {
        if (types == tables) exit
        print "a text with a model_type has the architectures too" | "cat >&2"
        exit 1
    }' "$@"
cat << 'END'
};

static const ms_family *const rows[] = {
END
grep -lE '^model_type = "' "$@" | awk '{ printf "    &texts[%d],\n", NR - 1 }'
cat << 'END'
};

const ms_family_list *ms_families(void)
{
    static const ms_family_list list = {rows,
                                        sizeof rows / sizeof *rows,
                                        ms_family_read_text,
                                        ms_family_of_user,
                                        ms_families_with,
                                        ms_families_in,
                                        NULL};
    return &list;
}
END
