#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What sweeps promise: the same bytes however they are run, whole rows on the disk whatever happens,
# nothing lost or doubled when they go on, shards that prove to be all there. Last line: "N passed, M failed".
set -u
cd "$(dirname "$0")/../../.."
root=$(pwd)
export MEMSCOPE="${MEMSCOPE:-$root/build/release/memscope}"
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0

# check LABEL COMMAND...: counts whether the command succeeds.
check() {
    label=$1
    shift
    if "$@" > "$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "sweep/$label: failed"
        head -5 "$work/log"
    fi
}

# refuses TEXT COMMAND...: exits 2 and says so.
refuses() {
    text=$1
    shift
    "$@" > "$work/out" 2> "$work/err"
    [ $? -eq 2 ] && grep -q -- "$text" "$work/err" || { cat "$work/err"; return 1; }
}

sweep() { $RUN "$MEMSCOPE" sweep -q "$@"; }
merge() { $RUN "$MEMSCOPE" merge -q "$@"; }
RUN=${RUNNER:-}

# Small models, some points that do not fit and some that are none.
cat > grid.csv <<'END'
config,batch,seq,dtype
gpt2,1,64,bf16
gpt2,2,128,fp32
gpt2,1,4096,bf16
qwen3-0.6b,4,128,
qwen3-0.6b,4096,512,fp32
no-such-model,1,64,bf16
gpt2,1,many,bf16
gpt2,1
"gpt2",8,512,"bf16"
END
small="--runs grid.csv --optimizer adamw,sgd --checkpointing none,all --device a100-80gb,rtx-4090"

# ---- the same bytes ----

# shellcheck disable=SC2086
for format in csv jsonl; do
    sweep $small --format $format -o whole.$format
    check "$format: exit status with error rows" [ $? -eq 1 ]
    for jobs in 1 2 7; do
        sweep $small --format $format --jobs $jobs > out.$format
        check "$format: $jobs threads" cmp whole.$format out.$format
    done
    mkdir -p elsewhere && cp grid.csv elsewhere
    (cd elsewhere && sweep $small --format $format > out)
    check "$format: another directory" cmp whole.$format elsewhere/out
    sweep --runs - --optimizer adamw,sgd --checkpointing none,all --device a100-80gb,rtx-4090 --format $format < grid.csv > out
    check "$format: runs from standard input" cmp whole.$format out
done
check "a row for each point" [ "$(wc -l < whole.csv)" -eq 73 ]
check "an error is a row" [ "$(grep -c ',error,' whole.csv)" -eq 32 ]
check "the row says why" grep -q 'no-such-model.*is not a built-in model' whole.csv

cat > schema.py <<'END'
import json, sys
import jsonschema
validator = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))
rows = [json.loads(line) for line in open(sys.argv[2])]
errors = [e.message for row in rows for e in validator.iter_errors(row)]
print(errors[:3])
sys.exit(bool(errors) or not rows)
END
"$MEMSCOPE" schema sweep_row > schema.json
sweep gpt2 --device rtx-4090 --checkpointing none,all --fit batch --format jsonl > fits.jsonl
if python3 -c 'import jsonschema' 2> /dev/null; then
    check "rows as the schema says" python3 schema.py schema.json whole.jsonl
    check "fits as the schema says" python3 schema.py schema.json fits.jsonl
fi

# ---- lists ----

points() { sweep gpt2 --format csv "$@" | awk -F, 'NR > 1 { printf "%s%s", $6, ";" }'; }
check "a range by factors" [ "$(points --seq '64:512:*2')" = '64;128;256;512;' ]
check "a range by steps" [ "$(points --batch 1:8:+3)" = '1;4;7;' ]
check "a range" [ "$(points --batch 2:4)" = '2;3;4;' ]
check "a mixed list" [ "$(points --batch 1,2:4,16:64:*4)" = '1;2;3;4;16;64;' ]
check "an option twice" [ "$(points --batch 1 --batch 5)" = '1;5;' ]
check "layers with ;" [ "$(points --checkpointing 'none;0,2,5-9')" = 'none;"0;' ]
check "every choice" [ "$(points --dtype all)" = 'fp32;bf16;fp16;' ]
check "every device" [ "$(points --device all | tr ';' '\n' | sort)" = "$("$MEMSCOPE" devices | awk 'NR > 2 && NF > 4 { print $1 }' | grep -v '^cpu$' | grep -v '^?' | sort)" ]
check "a bad value ends it" refuses 'batch: found' sweep gpt2 --batch 1,two
check "a range past the most" refuses 'batch: found' sweep gpt2 --batch '1:100000000:*10'
check "a range backwards" refuses 'contains no value' sweep gpt2 --batch 8:1
check "an empty step" refuses 'FIRST:LAST' sweep gpt2 --batch 1:8:0
check "a factor of 1" refuses 'FIRST:LAST' sweep gpt2 --batch '1:8:*1'
check "more than 2^64 points" refuses 'more than 2^64' sweep gpt2 --batch 1:1000000 --seq 2:16000000 --accumulate 1:4000 --weight-decay 0,1,2,3,4,5,6,7,8,9 --dtype all --optimizer all --attention all
check "no config" refuses 'no config' sweep --batch 1
check "a field twice" refuses 'given both in grid.csv and as an option' sweep --runs grid.csv --batch 1
check "standard input as config" refuses 'from standard input' sweep -
printf 'config,bach\ngpt2,1\n' > bad.csv
check "an unknown column" refuses "did you mean 'batch'" sweep --runs bad.csv
check "no such table" refuses 'cannot read none.csv' sweep --runs none.csv

# ---- going on ----

# shellcheck disable=SC2086
bytes=$(wc -c < whole.csv) bad=0 step=$(($(wc -c < whole.csv) * ${TRY_EVERY:-4} / 240))
at=0
while [ $at -le "$bytes" ]; do
    rm -f cut.csv cut.csv.part
    head -c $at whole.csv > cut.csv.part
    sweep $small --resume -o cut.csv 2> err
    cmp -s cut.csv whole.csv || { bad=$((bad + 1)); echo "cut at $at: $(cat err)"; }
    at=$((at + step))
done
check "cut at any byte" [ $bad -eq 0 ]
cp whole.csv cut.csv
# shellcheck disable=SC2086
sweep $small --resume -o cut.csv
check "whole already" cmp cut.csv whole.csv
check "no leftover" [ ! -e cut.csv.part ]
head -30 whole.csv > cut.csv
# shellcheck disable=SC2086
sweep $small --resume -o cut.csv
check "a part with the file's name" cmp cut.csv whole.csv
echo 'previous' > cut.csv
# Through a link the file behind it goes on, and stays as private as it was.
cp whole.csv real.csv
chmod 600 real.csv
truncate -s -20 real.csv
ln -s real.csv link.csv
# shellcheck disable=SC2086
sweep $small --resume -o link.csv
check "resumed through a link: the same rows" cmp whole.csv real.csv
check "resumed through a link: it is one still" [ -L link.csv ]
# shellcheck disable=SC2086
sweep $small -o link.csv
check "written again: as private as before" [ "$(stat -c %a real.csv)" = 600 ]
ln -s nowhere.csv nothing.csv
check "a link to nothing" refuses 'a broken link' sweep gpt2 -o nothing.csv
# shellcheck disable=SC2086
check "another file with its name" refuses 'not a row of a sweep' sweep $small --resume -o cut.csv
check "it stays" grep -qx previous cut.csv
head -10 whole.csv > other.csv.part
check "rows of another sweep" refuses 'not the row that this sweep writes' sweep --runs grid.csv --optimizer adamw --resume -o other.csv
check "they stay" [ "$(wc -l < other.csv.part)" -eq 10 ]
sed 3d whole.csv | head -9 > other.csv.part
# shellcheck disable=SC2086
check "a row is missing" refuses 'other.csv.part:3: this is not the row' sweep $small --resume -o other.csv
echo 'garbage' > other.csv.part
# shellcheck disable=SC2086
check "no rows at all" refuses 'not a row of a sweep' sweep $small --resume -o other.csv
check "nothing to go on in" refuses 'with -o FILE' sweep gpt2 --resume

# ---- whatever happens ----

whole_rows() {
    [ ! -s "$1" ] || [ "$(tail -c 1 "$1" | od -An -c | tr -d ' ')" = '\n' ] || return 1
    cmp -s "$1" whole.csv -n "$(wc -c < "$1")"
}
echo 'previous' > full.csv
# shellcheck disable=SC2086
(trap '' XFSZ && ulimit -f 4 && sweep $small -o full.csv 2> err)
check "a full disk is an error" [ $? -eq 2 ]
check "it says how to go on" grep -q 'cannot write.*full.csv.part' err
check "whole rows on a full disk" whole_rows full.csv.part
check "some rows on a full disk" [ -s full.csv.part ]
check "the previous file on a full disk" grep -qx previous full.csv
# shellcheck disable=SC2086
sweep $small --resume -o full.csv
check "going on after a full disk" cmp full.csv whole.csv
# shellcheck disable=SC2086
[ ! -e /dev/full ] || check "a full device" refuses 'No space left' sweep $small -o /dev/full
check "a read-only target" refuses 'cannot write' sweep gpt2 -o /proc/none.csv
check "a directory as target" refuses 'is a directory' sweep gpt2 -o .
sweep gpt2 --batch 1:2000 --format csv | head -3 > out
check "the reader goes away" [ "$(wc -l < out)" -eq 3 ]

# Killed at random points, a hundred times; each time there are whole rows, but perhaps for the last,
# and in the end all of them, once.
long="gpt2 --batch 1:20 --seq 64:640:+64 --checkpointing none,all"
# shellcheck disable=SC2086
sweep $long --format csv > long.csv
kills=0 bad=0
echo 'previous' > kill.csv
: > kill.csv.part
for delay in $(awk 'BEGIN { srand(7); for (i = 0; i < 100; i++) printf "%.3f ", 0.002 + rand() * 0.06 }'); do
    # shellcheck disable=SC2086
    "$MEMSCOPE" sweep -q $long --resume -o kill.csv 2> err &
    pid=$!
    sleep "$delay"
    if kill -9 $pid 2> /dev/null; then kills=$((kills + 1)); fi
    wait $pid 2> /dev/null
    if [ -e kill.csv.part ]; then
        grep -qx previous kill.csv || bad=$((bad + 1))
        cmp -s -n "$(wc -c < kill.csv.part)" kill.csv.part long.csv || { bad=$((bad + 1)); echo "killed after $delay: other rows"; }
    else
        cmp -s kill.csv long.csv || grep -qx previous kill.csv || bad=$((bad + 1))
        echo 'previous' > kill.csv
        : > kill.csv.part
        [ ! -s err ] || { bad=$((bad + 1)); cat err; }
    fi
done 2> /dev/null
check "killed $kills times" [ $bad -eq 0 ]
check "killed often enough" [ $kills -ge 50 ]
# shellcheck disable=SC2086
sweep $long --resume -o kill.csv
check "going on after kills" cmp kill.csv long.csv

# shellcheck disable=SC2086
"$MEMSCOPE" sweep $long --accumulate 1:50 -j1 -o stop.csv 2> err &
pid=$!
sleep 0.3
kill -TERM $pid
wait $pid
check "told to end" [ $? -eq 130 ]
check "told to end: how to go on" grep -q -- '--resume continues' err
# shellcheck disable=SC2086
"$MEMSCOPE" sweep -q $long --accumulate 1:50 -j1 -o twice.csv 2> err &
pid=$!
sleep 0.3
# shellcheck disable=SC2086
check "two at a time" refuses 'another memscope' sweep $long --accumulate 1:50 --resume -o twice.csv
kill -9 $pid
wait $pid 2> /dev/null

# ---- shards ----

# shellcheck disable=SC2086
for format in csv jsonl; do
    for i in 1 2 3 4 5; do sweep $small --shard $i/5 -o shard-$i.$format; done
    merge shard-4.$format shard-2.$format shard-1.$format shard-5.$format shard-3.$format -o merged.$format
    check "$format: shards are the whole" cmp merged.$format whole.$format
    check "$format: a shard is missing" refuses 'point 2 of 72 is in none' merge shard-1.$format shard-2.$format shard-4.$format shard-5.$format
    check "$format: a shard twice" refuses 'point 2 appears twice' merge shard-*.$format shard-3.$format
    sweep gpt2 --batch 1:72 --shard 3/5 -o foreign.$format
    check "$format: a foreign shard" refuses 'a different sweep' merge shard-1.$format shard-2.$format foreign.$format shard-4.$format shard-5.$format
    head -c -20 shard-3.$format > cut.$format
    check "$format: a shard that is cut" refuses 'is incomplete' merge shard-1.$format shard-2.$format cut.$format shard-4.$format shard-5.$format
    sed '$d' shard-3.$format > short.$format
    check "$format: a shard without its end" refuses 'point 67 of 72 is in none' merge shard-1.$format shard-2.$format short.$format shard-4.$format shard-5.$format
    sweep gpt2 --batch 1:3 > three.$format --format $format
    for i in 1 2 3 4 5; do sweep gpt2 --batch 1:3 --shard $i/5 -o few-$i.$format; done
    check "$format: more shards than points" merge few-*.$format -o few.$format
    check "$format: and they are all there" cmp few.$format three.$format
done
check "CSV and JSON do not mix" refuses 'a different sweep' merge shard-1.csv shard-2.jsonl shard-3.csv shard-4.csv shard-5.csv
echo 'previous' > kept.csv
check "a refused merge" refuses 'in none of the files' merge shard-1.csv -o kept.csv
check "a file that is not there" refuses 'cannot read none.csv' merge shard-1.csv none.csv -o kept.csv
check "leaves the previous file" grep -qx previous kept.csv
check "no shard of none" refuses 'such as 2/8' sweep gpt2 --shard 3/2
check "a frontier of a shard" refuses 'memscope merge --frontier' sweep gpt2 --shard 1/2 --frontier

# ---- frontier ----

grid="gpt2 --batch 1:12 --checkpointing none,all,every:2 --device rtx-4090 --accumulate 1,3"
# shellcheck disable=SC2086
sweep $grid --format csv > all.csv
# Every row against every other one, by the names of the columns.
awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; if (NR > 1) print; next }
    { fits = $at["fits"] == "true"; memory = $at["expected_device_bytes"]; rate = $at["tokens_per_s"] }
    NR == FNR { if (fits) { n++; m[n] = memory; t[n] = rate } next }
    fits { good = 1; for (i = 1; i <= n; i++)
        if (m[i] <= memory && t[i] >= rate && (m[i] < memory || t[i] > rate)) good = 0
        if (good) print }' all.csv all.csv > expected.csv
# shellcheck disable=SC2086
for format in csv jsonl; do
    sweep $grid --frontier --format $format > out.$format
    sweep $grid --frontier -o file.$format
    check "$format: frontier in a file" cmp out.$format file.$format
    check "$format: no leftover" [ ! -e file.$format.part ]
done
check "the frontier" cmp out.csv expected.csv
check "the frontier is some of it" [ "$(wc -l < out.csv)" -gt 2 ]
check "the frontier as JSON" [ "$(sed 's/.*"point": \([0-9]*\).*/\1/' out.jsonl | tr '\n' ' ')" = "$(awk -F, 'NR > 1 { printf "%s ", $2 }' expected.csv)" ]
merge --frontier all.csv > out.csv
check "the frontier of a file" cmp out.csv expected.csv
check "an objective that is none" refuses "did you mean 'tokens_per_s'" merge --frontier --objectives tokens_per_sec all.csv

# ---- the largest that fits ----

sweep gpt2 --device rtx-4090,h100-80gb --checkpointing none,all --fit batch --format csv > fit.csv
for i in 1 2 3 4; do
    device=$(sed -n "$((i + 1))p" fit.csv | cut -d, -f6) spec=$(sed -n "$((i + 1))p" fit.csv | cut -d, -f7)
    "$MEMSCOPE" fit gpt2 --device "$device" --checkpointing "$spec" --format json > one.json
    value=$(sed -n 's/^  "value": \([0-9]*\),/\1/p' one.json)
    check "fit on $device, $spec" [ "$(sed -n "$((i + 1))p" fit.csv | cut -d, -f10)" = "$value" ]
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
