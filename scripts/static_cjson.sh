#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# static_cjson.sh FOLDER: makes FOLDER/libcjson.a from Debian's source of cJSON, which Debian ships as a
# shared library alone; then `make static LDFLAGS=-LFOLDER`. Needs apt, dpkg-dev and a mirror.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. /etc/os-release
mkdir -p "$work/lists/partial"
echo "deb-src ${MIRROR:-http://deb.debian.org/debian} $VERSION_CODENAME main" > "$work/list"
cd "$work"
set -- -qq -o Dir::Etc::SourceList="$work/list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists"
apt-get "$@" update
apt-get "$@" source cjson
${CC:-cc} -O2 -c cjson-*/cJSON.c -o cJSON.o
ar rcs "$folder/libcjson.a" cJSON.o
echo "$folder/libcjson.a"
