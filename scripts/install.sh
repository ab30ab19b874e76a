#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# install.sh install|uninstall, called by make with BUILD, the folders and the names of the null device
# in the environment. One list of files serves both; uninstall needs nothing of what was built.
set -eu
cd "$(dirname "$0")/.."
action=$1
# Debian's zsh looks for what packages bring in another folder.
ZSH_FOLDER=${ZSH_FOLDER:-site-functions}
# What `memscope capture` needs lies beside the program, wherever libraries and data go: src/cli/capture/program.c
# looks for it there.
beside=$(dirname "$BINDIR")
NULL_FOLDER=${beside%/}/lib/memscope
PYTHON_FOLDER=${beside%/}/share/memscope/python

# file MODE SOURCE TARGET
file() {
    case $action in
    install)
        mkdir -p "$DESTDIR$(dirname "$3")"
        install -m "$1" "$2" "$DESTDIR$3"
        ;;
    uninstall) rm -f "$DESTDIR$3" ;;
    esac
}

# link TARGET NAME
link() {
    case $action in
    install)
        mkdir -p "$DESTDIR$(dirname "$2")"
        ln -sf "$1" "$DESTDIR$2"
        ;;
    uninstall) rm -f "$DESTDIR$2" ;;
    esac
}

# prune FOLDER: removes the empty folders on the way to it from $within, which stays. It may be gone itself.
prune() {
    folder=$1
    until [ -d "$folder" ]; do folder=$(dirname "$folder"); done
    case $folder in "$within"/*) (cd "$within" && rmdir -p "${folder#"$within"/}") 2> /dev/null || true ;; esac
}

# files MODE FOLDER SOURCE...; a pattern that matched nothing is skipped.
files() {
    mode=$1 folder=$2
    shift 2
    for source in "$@"; do
        shift
        [ ! -f "$source" ] || set -- "$@" "$source"
    done
    [ $# -gt 0 ] || return 0
    case $action in
    install)
        mkdir -p "$DESTDIR$folder"
        install -m "$mode" "$@" "$DESTDIR$folder"
        ;;
    uninstall) for source in "$@"; do rm -f "$DESTDIR$folder/${source##*/}"; done ;;
    esac
}

file 755 "$BUILD/memscope" "$BINDIR/memscope"
file 644 "$BUILD/libmemscope.a" "$LIBDIR/libmemscope.a"
file 755 "$BUILD/$SONAME" "$LIBDIR/$SONAME"
file 644 "$BUILD/memscope.pc" "$LIBDIR/pkgconfig/memscope.pc"
link "$SONAME" "$LIBDIR/libmemscope.so"
file 755 "$BUILD/nulldevice/libmemscope_null.so" "$NULL_FOLDER/libmemscope_null.so"
for name in $NULL_NAMES; do
    link libmemscope_null.so "$NULL_FOLDER/$name"
done
files 644 "$PYTHON_FOLDER/memscope_torch" scripts/memscope_torch/*.py
files 644 "$PYTHON_FOLDER/memscope_torch/inject" scripts/memscope_torch/inject/*.py
files 644 "$INCLUDEDIR/memscope" include/memscope/*.h
files 644 "$MANDIR/man1" man/*.1
case $action in
install)
    files 644 "$MANDIR/man1" "$BUILD"/man/*.1
    files 644 "$MANDIR/man5" "$BUILD"/man/*.5
    ;;
uninstall) rm -f "$DESTDIR$MANDIR"/man1/memscope-*.1 "$DESTDIR$MANDIR"/man5/memscope-*.5 ;;
esac
files 644 "$DATADIR/memscope/configs" configs/*.json
files 644 "$DATADIR/memscope/schemas" schemas/*.json
files 644 "$DOCDIR" README.md CHANGELOG.md LICENSE
files 644 "$DOCDIR/families" families/*.family # to begin a text of one's own with
for folder in docs docs/design docs/semantics; do
    files 644 "$DOCDIR/$folder" $folder/*.md
done
for completion in completions/*; do
    case $completion in
    *.bash) file 644 "$completion" "$DATADIR/bash-completion/completions/memscope" ;;
    *_memscope | *.zsh) file 644 "$completion" "$DATADIR/zsh/$ZSH_FOLDER/_memscope" ;;
    *.fish) file 644 "$completion" "$DATADIR/fish/vendor_completions.d/memscope.fish" ;;
    esac
done
if [ "$action" = uninstall ]; then
    # A program that runs from there leaves compiled Python behind.
    for folder in "$PYTHON_FOLDER/memscope_torch/inject" "$PYTHON_FOLDER/memscope_torch"; do
        rm -f "$DESTDIR$folder"/__pycache__/*.pyc
        rmdir "$DESTDIR$folder/__pycache__" 2> /dev/null || true
    done
    for folder in "$NULL_FOLDER" "$PYTHON_FOLDER/memscope_torch/inject" "$PYTHON_FOLDER/memscope_torch" \
        "$PYTHON_FOLDER" "$(dirname "$PYTHON_FOLDER")" "$INCLUDEDIR/memscope" "$DATADIR/memscope/configs" \
        "$DATADIR/memscope/schemas" "$DATADIR/memscope" "$DOCDIR/docs/design" "$DOCDIR/docs/semantics" "$DOCDIR/docs" \
        "$DOCDIR/families" \
        "$DOCDIR"; do
        rmdir "$DESTDIR$folder" 2> /dev/null || true
    done
    # Folders that others use too go where nobody else has put them: below DESTDIR, or a prefix of one's own.
    case $DESTDIR$PREFIX in / | /usr | /usr/local) exit ;; esac
    within=${DESTDIR:-$PREFIX}
    for folder in "$BINDIR" "$LIBDIR/pkgconfig" "$INCLUDEDIR" "$NULL_FOLDER" "$(dirname "$PYTHON_FOLDER")" \
        "$MANDIR/man1" "$MANDIR/man5" "$DOCDIR" "$DATADIR/memscope" "$DATADIR/bash-completion/completions" \
        "$DATADIR/zsh/$ZSH_FOLDER" "$DATADIR/fish/vendor_completions.d"; do
        case $DESTDIR$folder in "$within"/*) prune "${DESTDIR%/}$folder" ;; esac
    done
fi
