#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_layers.sh [BUILD]: proves the order of the halls, of the stages in them, and of the folders in each stage. A hall
# uses itself and the halls before it. A file includes, and an object calls, only what the row of its stage
# allows; within a stage only its own folder and those that stand before it. BUILD has the objects; without it
# only includes are looked at. The rows are the arrows of docs/design/overview.md.
set -u
cd "$(dirname "$0")/.."
build=${1:-}

# hall: its stages, which are its folders; one that is its hall's only stage, or has its name, is the hall's own folder.
halls='
base: base json text
core: tensor device allocator trace
hardware: replay nulldevice
input: config weights document
torch: autograd ops treatments parallel
model: model
run: step measure simulate
serve: stream infer
decide: advise ledger plan fit sweep diff compare check calibrate
report: report
api: api
cli: cli
'

# stage: stages that it may use: its folders, the lowest first; "." is the stage's own.
rows='
base::.
json:base:.
text:base json:.
tensor:base:.
device:base json:.
allocator:base:.
config:base json text tensor device allocator:fields treatment model adapter run resolve trainers launch load
trace:base json tensor:.
replay:base tensor device allocator trace:. cuda
autograd:base tensor device trace:.
ops:base tensor device config trace autograd:. elementwise convolution moe liger trl cut quantized attention dtensor
treatments:base text tensor config trace autograd:.
parallel:base tensor device config trace autograd:kit zero .
model:base json text tensor device config trace autograd ops treatments:blocks decoder recurrent vision evaluator .
step:base tensor allocator config trace autograd ops treatments parallel model:optimizers pipeline . inference
measure:base tensor device allocator config trace:.
simulate:base tensor device allocator config trace step measure:.
advise:base device config measure simulate:.
weights:base json:.
stream:base json tensor device allocator weights config trace replay step measure simulate:.
infer:base json text tensor device allocator weights config trace step measure model:kit ggml llama llamacpp hf vllm files speed .
ledger:base text tensor device allocator config trace step measure simulate advise:.
plan:base json text tensor device allocator config trace measure simulate advise ledger:solver costs choose trainers search needs modules operators .
fit:base text device allocator config simulate plan:.
sweep:base json text device config model simulate plan fit:.
document:base json text:.
diff:base document:.
compare:base text document:.
check:base json text device config model document diff:.
calibrate:base json text tensor device replay config document:.
report:base json text tensor device allocator config trace replay step measure simulate advise stream infer ledger plan fit document diff compare check calibrate:kit view pictures ranks step plan stream infer runs runtime compare diff check others .
api:base json text tensor device allocator config trace replay model measure simulate advise stream infer ledger plan fit sweep document diff compare check calibrate report:. inference check devices
cli:base:output parse capture commands .
nulldevice::. driver libraries
'

sources=$(find src -name '*.[ch]')
others=$(find include tests -name '*.[ch]')
scripts="$(find scripts -name '*.sh') Makefile"

# Lines "kind file ...": of each file what it includes, its first line of licence, and what belongs elsewhere.
# shellcheck disable=SC2086
read_files() {
    awk '
        function statement_ends() {
            if (call ~ /%[-+ 0#]*[0-9.*]*l?[aefgAEFG]/) print "fault", FILENAME ": a number that is not whole is printed by base/locale.h"
            call = ""
        }
        FNR == 1 { is_source = FILENAME ~ /^src\//; is_first = 1; call = ""; print "file", FILENAME }
        FNR <= 3 && /SPDX-License-Identifier: GPL-3\.0-or-later/ { print "licence", FILENAME }
        !is_source { next }
        /^[ \t]*#[ \t]*include/ {
            match($0, /["<].*[">]/)
            name = substr($0, RSTART + 1, RLENGTH - 2)
            print "include", substr(FILENAME, 5), name, is_first, substr($0, RSTART, 1)
            is_first = 0
        }
        # Numbers that are not whole go through base/locale.h: elsewhere the locale of the process would decide
        # about the point. The program itself sets no locale.
        FILENAME ~ /\.h$/ || FILENAME ~ /^src\/(base\/locale\.c|cli\/|hardware\/nulldevice\/)/ { next }
        /(^|[^A-Za-z0-9_])(vs?n?printf|vfprintf|strto(d|f|ld)|atof|sscanf|fscanf)\(/ {
            print "fault", FILENAME ": numbers are printed and read by base/locale.h"
        }
        {
            line = $0
            gsub(/%%/, "", line)
            if (call == "" && match(line, /(^|[^A-Za-z0-9_])(fprintf|sn?printf)\(/)) {
                call = " "
                line = substr(line, RSTART)
            }
            if (call == "") next
            call = call line
            if ((end = index(call, ";"))) { call = substr(call, 1, end); statement_ends() }
        }' $sources $others $scripts
}

# Lines "call file file :name" for each function that an object has of another file.
read_objects() {
    objects=$(echo "$sources" | sed -n "/^src\/hardware\/nulldevice\//d; s|^\(.*\)\.c\$|$build/\1.o|p")
    # shellcheck disable=SC2086
    { nm -A $objects 2>/dev/null || echo failed; } | awk -v start="${#build}" -v map="$build/gen/exports.map" '
        BEGIN { while ((getline line < map) > 0) if (match(line, /ms_[a-z0-9_]*;$/)) is_public[substr(line, RSTART, RLENGTH - 1)] = 1 }
        $1 == "failed" { print "fault", "the objects in the build folder cannot be read"; next }
        { end = index($1, ".o:"); file = substr($1, start + 6, end - start - 6) ".c" }
        $(NF - 1) ~ /^[TDRBC]$/ { home[$NF] = file }
        $(NF - 1) == "U" { files[++calls] = file; names[calls] = $NF }
        END {
            for (i = 1; i <= calls; i++)
                if (names[i] in home && home[names[i]] != files[i] && !(files[i] ~ /^cli\// && is_public[names[i]]))
                    print "call", files[i], home[names[i]], ":" names[i]
        }'
}

{
    find src include -name '*.[ch]' | sed 's|^|known |'
    read_files
    [ -z "$build" ] || read_objects
} | awk -v rows="$rows" -v halls="$halls" '
    function complain(text) { print text | "cat >&2"; bad = 1 }
    # How many folders of a path are its stage: the second where the hall has a stage of that name.
    function depth(part) { return (part[1], part[2]) in hall_has ? 2 : 1 }
    function stage(path,    part) { split(path, part, "/"); return part[depth(part)] }
    function folder(path,    part, n, d) { n = split(path, part, "/"); d = depth(part); return n > d + 1 ? part[d + 1] : "." }
    function judge(user, used, how,    from, to) {
        from = stage(user); to = stage(used)
        if (!(from in known_stage)) { complain(user ": stage " from " has no row in scripts/check_layers.sh"); return }
        if (!(to in known_stage)) { complain(used ": stage " to " has no row in scripts/check_layers.sh"); return }
        if (order[to] > order[from]) complain(user ": hall " name_of[order[from]] " may not use hall " name_of[order[to]] how)
        if (!((from, folder(user)) in rank)) { complain(user ": folder " folder(user) " is in no row of scripts/check_layers.sh"); return }
        if (from != to && !((from, to) in may)) complain(user ": stage " from " may not use " used how)
        if (from == to && rank[to, folder(used)] > rank[from, folder(user)])
            complain(user ": " folder(user) " may not use " used how ", which stands above it")
    }
    # Below the ledger the public headers are out of reach, but for errors, fields, verdicts, the list of inputs and watches;
    # what is read back has its own.
    function is_in_reach(user, header) {
        return user ~ /^(cli|api|report|decide\/(sweep|plan|fit|ledger)|run\/simulate)\// || header ~ /^memscope\/(error|field|inputs|verdict|watch)\.h$/ ||
               (user ~ /^(input\/document|decide\/compare)\// && header == "memscope/recorded.h")
    }
    # Seams that belong to one place each.
    function seam_of(header) {
        if (header == "glpk.h") return "decide/plan/solver/solver.c"
        if (header ~ /^(cjson\/)?cJSON\.h$/) return "base/json/"
        if (header == "yaml.h") return "base/json/yaml"
        return ""
    }
    function include(user, header, is_first, quote,    own, seam) {
        own = user; sub(/\.c$/, ".h", own)
        if (is_first && own != user && (("src/" own) in known) && header != own)
            complain("src/" user ": its own header does not come first")
        if (header == "regex.h") complain("src/" user ": regex.h takes time and memory without bound; text/pattern.h does not")
        seam = seam_of(header)
        if (seam != "" && index(user, seam) != 1) complain("src/" user ": only src/" seam " includes " header)
        if (quote != "\"") return
        if (!(("src/" header) in known) && !(("include/" header) in known))
            complain("no file " header ", which is included")
        else if (header !~ /^memscope\//) judge(user, header, "")
        else if (!is_in_reach(user, header)) complain("out of reach of " user ": " header)
    }
    BEGIN {
        n = split(halls, line, "\n")
        for (i = 1; i <= n; i++) {
            if (!(j = index(line[i], ":"))) continue
            name_of[++count] = hall = substr(line[i], 1, j - 1)
            m = split(substr(line[i], j + 1), word, " ")
            for (j = 1; j <= m; j++) { order[word[j]] = count; if (word[j] != hall) hall_has[hall, word[j]] = 1 }
        }
        n = split(rows, line, "\n")
        for (i = 1; i <= n; i++) {
            if (split(line[i], part, ":") < 3) continue
            if (!(part[1] in order)) complain("stage " part[1] " is in no hall of scripts/check_layers.sh")
            known_stage[part[1]] = 1
            m = split(part[2], word, " ")
            for (j = 1; j <= m; j++) may[part[1], word[j]] = 1
            m = split(part[3], word, " ")
            for (j = 1; j <= m; j++) rank[part[1], word[j]] = j
        }
    }
    $1 == "known" { known[$2] = 1 }
    # A source and its header are one subject.
    $1 == "known" {
        name = $2
        sub(/\.[ch]$/, "", name)
        if (name in subject) next
        subject[name] = 1
        sub(/\/[^\/]*$/, "", name)
        size[name]++
    }
    $1 == "file" { file[$2] = 1 }
    $1 == "licence" { licence[$2] = 1 }
    $1 == "include" { include($2, $3, $4, $5) }
    $1 == "call" { judge($2, $3, $4) }
    $1 == "fault" { complain(substr($0, 7)) }
    END {
        # No folder is a heap.
        for (name in size) if (size[name] > 40) complain(name " has " size[name] " subjects; 40 is the most")
        for (name in file) if (!(name in licence)) complain(name ": no licence line")
        exit bad
    }'
