#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The documents hang together: every link within the repository leads to a file, and to a heading of it where
# it names one; a document that is named anywhere in the tree is there, and so is a source file that a document
# names; prose in docs/ is wrapped at 100 columns, and README.md has at most 130 lines.
set -u
cd "$(dirname "$0")/.."
bad=0
complain() {
    echo "$1" >&2
    bad=1
}

# without_code FILE: blocks of code become empty lines
without_code() {
    awk '/^ *```/ { inside = !inside; print ""; next } { print inside ? "" : $0 }' "$1"
}

# links FILE: "line target" of each link that is not to the web
links() {
    without_code "$1" | awk '{ rest = $0
        while (match(rest, /\]\([^) ]+\)/)) {
            target = substr(rest, RSTART + 2, RLENGTH - 3)
            rest = substr(rest, RSTART + RLENGTH)
            if (target !~ /^(https?|mailto):/) print NR, target } }'
}

# headings FILE: as GitHub names them
headings() {
    without_code "$1" | sed -n 's/^#\{1,6\} *//p' | tr '[:upper:]' '[:lower:]' | sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'
}

check_links() {
    links "$1" > "$work/links"
    while read -r line target; do
        name=${target%%#*}
        path=$1
        [ -z "$name" ] || path=$(dirname "$1")/$name
        [ -e "$path" ] || { complain "$1:$line: $target leads nowhere"; continue; }
        case $target in
        *.md#* | \#*) headings "$path" | grep -qxF -- "${target#*#}" || complain "$1:$line: $path has no heading ${target#*#}" ;;
        esac
    done < "$work/links"
}

# Tables, comments and blocks of code cannot be wrapped.
check_width() {
    without_code "$1" | awk -v file="$1" 'length($0) > 100 && !/^ *(\||<!--)/ {
        print file ":" NR ": " length($0) " columns; the cap is 100"; bad = 1 } END { exit bad }' >&2 || bad=1
}

# Names in `...` that look like those of sources; one that begins with a dot or has a pattern is none.
check_sources() {
    without_code "$1" | grep -o '`[a-z0-9_/]*\.\(c\|h\|py\|sh\|css\|json\)`' | tr -d '`' | sort -u > "$work/names"
    while read -r name; do
        grep -qE "(^|/)$name\$" "$work/files" || complain "$1: there is no $name"
    done < "$work/names"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git ls-files --cached --others --exclude-standard > "$work/files" 2> /dev/null || find . -type f | sed 's|^\./||' > "$work/files"
documents=$(find docs -name '*.md' | sort)
for file in README.md CHANGELOG.md tests/README.md tests/oracle/README.md reports/*.md $documents; do
    check_links "$file"
done
for file in README.md tests/README.md $documents; do
    check_width "$file"
done
for file in docs/design/*.md docs/semantics/*.md; do
    check_sources "$file"
done
lines=$(wc -l < README.md)
[ "$lines" -le 130 ] || complain "README.md has $lines lines; the cap is 130"
grep -rnoE '\bdocs/[a-z_/]+\.md\b' Makefile scripts src include tests/README.md tests/*/*.sh tests/*/*.py ci debian man > "$work/mentions"
while IFS=: read -r file line name; do
    [ -f "$name" ] || complain "$file:$line: there is no $name"
done < "$work/mentions"
exit $bad
