#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# fill_examples.sh FILE: prints the Markdown file with its examples run again. An example is a line
# `<!-- run: COMMAND -->` and the fenced block below it; $PATH finds memscope. With
# `<!-- run first N: COMMAND -->` the block holds the first N lines of the output.
set -eu
export LC_ALL=C NO_COLOR=1 COLUMNS=100
awk '
    /^<!-- run( first [0-9]+)?: .* -->$/ {
        print
        limit = $3 == "first" ? $4 + 0 : 0
        start = index($0, ": ") + 2
        command = substr($0, start, length($0) - start - 3)
        getline fence
        if (fence !~ /^```/) { print "no block below: " $0 > "/dev/stderr"; exit 1 }
        print fence
        print "$ " command
        pipe = "{ " command "; } 2>&1"
        while ((pipe | getline line) > 0)
            if (limit == 0 || ++printed <= limit)
                print line
        if (printed > limit)
            print "  ..."
        printed = 0
        close(pipe)
        while ((getline line) > 0 && line !~ /^```$/)
            ;
        print "```"
        next
    }
    { print }' "$1"
