#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A sweep as a Slurm job array, a shard a task, and a job that joins the shards when all have ended:
#
#   scripts/slurm_sweep.sh -n 32 -o rows.csv -- llama-3.1-8b --batch 1:64 --seq 512:8192:+512 --device all
#
# -n TASKS   shards, each a task of the array
# -o FILE    where the rows go; shards are FILE.shard-K, kept until all are joined
# -s OPTIONS for every sbatch, such as "--partition=cpu --time=10"
# What follows -- are the arguments of memscope sweep. Run it again with the same arguments and it
# goes on: tasks that are done end at once, others go on after their last row. It must run in a folder
# that all nodes see, with memscope in the PATH, or named by MEMSCOPE.
set -eu

usage() {
    sed -n '5,12s/^# //p' "$0" >&2
    exit 2
}

tasks='' output='' options=''
while getopts n:o:s:h option; do
    case $option in
    n) tasks=$OPTARG ;;
    o) output=$OPTARG ;;
    s) options=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ -n "$tasks" ] && [ -n "$output" ] && [ $# -gt 0 ] || usage
case $output in
*.jsonl) suffix=jsonl ;;
*) suffix=csv ;;
esac
memscope=${MEMSCOPE:-memscope}

# quote WORD...: the words as a shell reads them again.
quote() {
    for word in "$@"; do
        printf " '%s'" "$(printf '%s\n' "$word" | sed "s/'/'\\\\''/g")"
    done
}

shard="$output.shard-"
# Exit status 1 says that some rows have no figures: all rows are there, so the task has succeeded.
# shellcheck disable=SC2086
array=$(sbatch --parsable --array="1-$tasks" --job-name=memscope-sweep --output="$output.log-%a" \
    --open-mode=append --requeue $options << EOF
#!/bin/sh
$(quote "$memscope") sweep $(quote "$@") --quiet --format $suffix --jobs "\${SLURM_CPUS_ON_NODE:-1}" \\
    --shard "\$SLURM_ARRAY_TASK_ID/$tasks" --resume -o $(quote "$shard")"\$SLURM_ARRAY_TASK_ID" || [ \$? -eq 1 ]
EOF
)
array=${array%%;*}

# afterany: the merge itself proves that nothing is missing, and says what is.
# shellcheck disable=SC2086
merge=$(sbatch --parsable --dependency="afterany:$array" --job-name=memscope-merge --output="$output.log-merge" \
    $options << EOF
#!/bin/sh
set --
for k in \$(seq 1 $tasks); do set -- "\$@" $(quote "$shard")"\$k"; done
$(quote "$memscope") merge "\$@" -o $(quote "$output") && rm -f "\$@"
EOF
)
echo "sweep: job $array, $tasks tasks; merge: job ${merge%%;*}, into $output"
