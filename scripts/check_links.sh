#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_links.sh BUILD: proves from the objects in BUILD that no files of src need each other in a circle, and
# that a header declares the functions of the .c file of its name. Exceptions are listed below, each with its
# reason; one that is no longer needed is an error too.
set -u
cd "$(dirname "$0")/.."
build=${1:?usage: check_links.sh BUILD}

# Pairs of files that need each other: first second: why.
pairs='
'

# Headers that stand for several files: header: why.
shared='
torch/ops/ops.h: the list of operators, as torch has it; a file each would be a folder of headers of three lines
torch/autograd/tape.h: the tape, whose nodes are a file of their own
decide/ledger/ledger.h: a ledger in words: text.c and notes.c say what ledger.c counted
decide/ledger/records.h: operators and tensors are the two halves of the records
model/evaluator/program.h: a text that was read, whose parts are files: names, reading, numbers
model/evaluator/family.h: families of texts, whose parts are files: reading, checks of a config
model/evaluator/syntax/parser.h: parsing, whose parts are files: expressions, statements
model/evaluator/resolve.h: finding names, whose parts are files: names, expressions, fields, functions, keys, all of a text
model/evaluator/primitive.h: rows of functions.c and modules.c, and what they ask of a frame and of a part that is made
model/evaluator/evaluate.h: the program, whose parts are files: building, calls, passes
hardware/nulldevice/nulldevice.h: the device that every library here has
torch/parallel/fsdp.h: FSDP2, whose parts are files: shards, collectives, the ends of the step
torch/parallel/fsdp1.h: FSDP1, whose parts are files: flat parameters, collectives, clipping
torch/parallel/zero/zero.h: ZeRO 1 and 2, whose parts are files: flattening, reduction, the step, norms, the host
torch/parallel/zero/zero3.h: ZeRO 3, whose parts are files: building, gathering, reduction, the host
decide/plan/trainers/expressible.h: rows of targets.c, which say how a trainer shapes a plan
run/step/optimizers/optimizer_row.h: rows of optimizer.c, with what they make and update
'

objects=$(find src -name '*.c' | sed "s|^|$build/|; s|c\$|o|")
# shellcheck disable=SC2086
{ nm -A $objects 2>/dev/null || echo failed; } | sed "s|^$build/src/||; s|\.o:| |" |
    awk -v pairs="$pairs" -v shared="$shared" '
        function complain(text) { print text; bad = 1 }

        # ---- what is linked ----
        $1 == "failed" { complain("the objects in the build folder cannot be read"); next }
        FILENAME == "-" { type = $(NF - 1); name = $NF; file = $1; files[file] = 1 }
        FILENAME == "-" && type ~ /^[TDRB]$/ { home[name] = file; is_function[name] = type == "T" }
        FILENAME == "-" && type == "U" { user[++uses] = file; used[uses] = name }

        # ---- what headers declare: what is outside of braces and comments ----
        FILENAME != "-" {
            if (FNR == 1) { text = ""; depth = 0; in_comment = 0 }
            line = $0
            sub(/^[ \t]*#.*/, "", line)
            while (1) {
                if (in_comment) {
                    if (!(i = index(line, "*/"))) { line = ""; break }
                    line = substr(line, i + 2); in_comment = 0
                }
                if (!(i = index(line, "/*"))) break
                take(substr(line, 1, i - 1)); line = substr(line, i + 2); in_comment = 1
            }
            take(line)
        }
        function take(part,    word, i, n) {
            n = split(part, word, /[^A-Za-z0-9_(){}]+/)
            for (i = 1; i <= n; i++) declare(word[i])
        }
        function declare(word,    c, name) {
            while (word != "") {
                if (match(word, /^[A-Za-z0-9_]+/)) {
                    name = substr(word, 1, RLENGTH); word = substr(word, RLENGTH + 1)
                    if (depth == 0 && substr(word, 1, 1) == "(" && (name in home) && is_function[name])
                        note(FILENAME, name)
                    continue
                }
                c = substr(word, 1, 1); word = substr(word, 2)
                if (c == "{") depth++
                if (c == "}") depth--
            }
        }
        function note(header, name,    own) {
            own = header; sub(/^src\//, "", own); sub(/\.h$/, "", own)
            if (home[name] != own && !((own, name) in seen)) {
                seen[own, name] = 1
                if (!((own, home[name]) in owners)) list[own] = list[own] " " home[name] ".c"
                owners[own, home[name]] = 1
                strangers[own]++
            }
        }

        # ---- circles: files that reach each other ----
        function visit(v,    i, n, next_file, w, members, count) {
            low[v] = order[v] = ++visited; stack[++top] = v; on_stack[v] = 1
            n = split(edges[v], next_file, " ")
            for (i = 1; i <= n; i++) {
                w = next_file[i]
                if (!(w in order)) { visit(w); if (low[w] < low[v]) low[v] = low[w] }
                else if (on_stack[w] && order[w] < low[v]) low[v] = order[w]
            }
            if (low[v] != order[v]) return
            members = ""; count = 0
            do { w = stack[top--]; on_stack[w] = 0; members = members " " w ".c"; count++; circle[w] = v } while (w != v)
            if (count > 1) { size[v] = count; names[v] = members }
        }
        function sorted(text,    word, n, i, j, t) {
            n = split(text, word, " ")
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && word[j - 1] > word[j]; j--) { t = word[j]; word[j] = word[j - 1]; word[j - 1] = t }
            text = word[1]
            for (i = 2; i <= n; i++) text = text " " word[i]
            return text
        }

        END {
            n = split(pairs, row, "\n")
            for (i = 1; i <= n; i++) if ((j = index(row[i], ":"))) accepted[sorted(substr(row[i], 1, j - 1))] = 1
            n = split(shared, row, "\n")
            for (i = 1; i <= n; i++) if ((j = index(row[i], ":"))) is_shared[substr(row[i], 1, j - 1)] = 1
            for (i = 1; i <= uses; i++) {
                a = user[i]; b = home[used[i]]
                if (b != "" && a != b && !((a, b) in linked)) {
                    linked[a, b] = used[i]; edges[a] = edges[a] " " b
                }
            }
            for (v in files) if (!(v in order)) visit(v)
            for (v in size) {
                text = sorted(names[v])
                if (text in accepted) { found[text] = 1; continue }
                complain("a circle of " size[v] " files: " text)
                for (key in linked) {
                    split(key, end, SUBSEP)
                    if (circle[end[1]] == v && circle[end[2]] == v) print "    " end[1] " needs " end[2] " for " linked[key]
                }
            }
            for (text in accepted) if (!(text in found)) complain("no circle any more: " text)
            for (own in list) {
                headers++
                if ((own ".h") in is_shared) { needed[own ".h"] = 1; continue }
                complain(own ".h declares " strangers[own] " functions of" list[own])
            }
            for (header in is_shared) if (!(header in needed)) complain("no functions of other files any more: " header)
            exit bad
        }' - $(find src -name '*.h')
