#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/slurm_sweep.sh on a real Slurm: starts munged, slurmctld and slurmd of Debian on this host,
# kills one task midway, has it go on, and compares the joined rows with those of one process.
# Needs root and the packages slurmctld, slurmd, slurm-client and munge; not part of make check.
set -eu
cd "$(dirname "$0")/../../.."
root=$(pwd)
export MEMSCOPE="${MEMSCOPE:-$root/build/release/memscope}"
work=$(mktemp -d)
host=$(hostname -s)
export SLURM_CONF="$work/slurm.conf"
pids=''
finish() {
    for pid in $pids; do kill "$pid" 2> /dev/null || true; done
    [ ! -s "$work/munged.pid" ] || kill "$(cat "$work/munged.pid")" 2> /dev/null || true
    # shellcheck disable=SC2086
    wait $pids 2> /dev/null || true
    rm -rf "$work"
}
trap finish EXIT

mkdir -p "$work/spool" "$work/state" /run/munge
[ -s /etc/munge/munge.key ] || mungekey -c
chown -R munge: /run/munge /etc/munge 2> /dev/null || true
if ! munge -n > /dev/null 2>&1; then
    runuser -u munge -- munged --pid-file="/run/munge/munged.pid"
    cp /run/munge/munged.pid "$work/munged.pid"
fi
cat > "$SLURM_CONF" << EOF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldPort=16817
SlurmdPort=16818
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
EOF
slurmctld -D -f "$SLURM_CONF" > "$work/slurmctld.log" 2>&1 &
pids="$pids $!"
slurmd -D -f "$SLURM_CONF" > "$work/slurmd.log" 2>&1 &
pids="$pids $!"
tries=0
until sinfo -h -o %T 2> /dev/null | grep -q idle; do
    tries=$((tries + 1))
    [ $tries -lt 60 ] || { tail "$work/slurmctld.log" "$work/slurmd.log"; exit 1; }
    sleep 1
done

cd "$work"
points='gpt2 --batch 1:24 --seq 64:1024:+64 --checkpointing none,all --accumulate 1,2,3,4'
# wait_for JOB...: until they have left the queue.
wait_for() {
    while [ -n "$(squeue -h -j "$1" 2> /dev/null)" ]; do sleep 1; done
}

# shellcheck disable=SC2086
"$MEMSCOPE" sweep -q $points -o whole.csv
# shellcheck disable=SC2086
sh "$root/scripts/slurm_sweep.sh" -n 4 -o rows.csv -- $points | tee submitted
array=$(sed -n 's/^sweep: job \([0-9]*\),.*/\1/p' submitted)
merge=$(sed -n 's/.*merge: job \([0-9]*\),.*/\1/p' submitted)
# The first task that has rows goes, midway.
victim=''
while [ -z "$victim" ]; do
    for k in 1 2 3 4; do [ ! -s rows.csv.shard-$k.part ] || victim=$k; done
    [ -n "$(squeue -h -j "$array" 2> /dev/null)" ] || break
done
[ -n "$victim" ] && scancel --signal=KILL --full "${array}_$victim"
wait_for "$merge"
echo "killed task $victim with $(($(wc -l < "rows.csv.shard-$victim.part") - 1)) rows; the merge said:"
cat rows.csv.log-merge
grep -q "cannot read rows.csv.shard-$victim" rows.csv.log-merge
[ ! -e rows.csv ]
# shellcheck disable=SC2086
sh "$root/scripts/slurm_sweep.sh" -n 4 -o rows.csv -- $points | tee submitted
wait_for "$(sed -n 's/.*merge: job \([0-9]*\),.*/\1/p' submitted)"
cmp rows.csv whole.csv
[ -z "$(ls rows.csv.shard-* 2> /dev/null)" ]
echo "slurm: $(($(wc -l < rows.csv) - 1)) rows, joined and whole"
