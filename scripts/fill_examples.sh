#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# fill_examples.sh FILE: prints the Markdown file with its examples run again. An example is a line
# `<!-- run: COMMAND -->` and the fenced block below it; $PATH finds memscope.
set -eu
awk '
    /^<!-- run: .* -->$/ {
        print
        command = substr($0, 11, length($0) - 14)
        getline fence
        if (fence !~ /^```/) { print "no block below: " $0 > "/dev/stderr"; exit 1 }
        print fence
        print "$ " command
        while (("{ " command "; } 2>&1" | getline line) > 0)
            print line
        close("{ " command "; } 2>&1")
        while ((getline line) > 0 && line !~ /^```$/)
            ;
        print "```"
        next
    }
    { print }' "$1"
