#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# changed_sources.sh [BASE]: the .c files of src whose text is not that of a file at BASE, a commit, and, for each header of
# which that holds, up to four files that include it: the analyzers see a header only through those. Names of files and
# lines of #include do not count, so that a file that was only moved has not changed. BASE is the merge base with
# origin/main; where that is HEAD itself, or there is none, it is the commit 100 before HEAD. Where git cannot tell, these are
# all files. What was compared is told on standard error.
set -u
cd "$(dirname "$0")/.."

base_of_branch() {
    base=$(git merge-base HEAD origin/main 2> /dev/null) && [ "$base" != "$(git rev-parse HEAD)" ] && echo "$base"
}

all() {
    echo "all files of src, as $1" >&2
    find src -name '*.c' | LC_ALL=C sort
    exit
}

base=${1:-$(base_of_branch || git rev-parse --verify --quiet HEAD~100)}
[ -n "$base" ] || all "git knows no earlier commit to compare with"
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
git archive -o "$before/src.tar" "$base" src 2> /dev/null && tar -xf "$before/src.tar" -C "$before" ||
    all "git cannot read $base"
[ -n "$(find "$before/src" -name '*.c' | head -n 1)" ] || all "there are no sources at $base"

# Reads the files of BASE, then those of now; the lines of #include are kept apart.
{ find "$before/src" -name '*.[ch]' && echo && find src -name '*.[ch]' | LC_ALL=C sort; } |
    awk -v more=4 '
        $0 == "" { now = 1; next }
        {
            text = ""
            while ((getline line < $0) > 0) {
                if (line !~ /^#include/) text = text line "\n"
                else if (now && split(line, part, "\"") > 1) users[part[2]] = users[part[2]] " " $0
            }
            close($0)
            if (!now) was[text] = 1
            else {
                if ($0 ~ /\.c$/) sources[++n] = $0
                if (!(text in was)) changed[$0] = 1
            }
        }
        END {
            for (file in changed) {
                wanted[file] = 1
                if (file !~ /\.h$/) continue
                count = split(users[substr(file, 5)], user, " ")
                taken = 0
                for (i = 1; i <= count && taken < more; i++)
                    if (user[i] ~ /\.c$/) { wanted[user[i]] = 1; taken++ }
            }
            for (i = 1; i <= n; i++) if (sources[i] in wanted) print sources[i]
        }' > "$before/list" || all "they could not be compared"
cat "$before/list"
echo "$(wc -l < "$before/list") of $(find src -name '*.c' | wc -l) files of src, which changed since $(git rev-parse --short "$base")" >&2
