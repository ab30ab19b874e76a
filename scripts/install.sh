#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# install.sh install|uninstall, called by make with BUILD and the folders in the environment. One
# list of files serves both.
set -eu
cd "$(dirname "$0")/.."
action=$1
# Debian's zsh looks for what packages bring in another folder.
ZSH_FOLDER=${ZSH_FOLDER:-site-functions}

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

# files MODE FOLDER SOURCE...; a pattern that matched nothing is skipped.
files() {
    mode=$1 folder=$2
    shift 2
    for source in "$@"; do
        [ ! -f "$source" ] || file "$mode" "$source" "$folder/$(basename "$source")"
    done
}

file 755 "$BUILD/memscope" "$BINDIR/memscope"
file 644 "$BUILD/libmemscope.a" "$LIBDIR/libmemscope.a"
file 755 "$BUILD/$SONAME" "$LIBDIR/$SONAME"
file 644 "$BUILD/memscope.pc" "$LIBDIR/pkgconfig/memscope.pc"
case $action in
install) ln -sf "$SONAME" "$DESTDIR$LIBDIR/libmemscope.so" ;;
uninstall) rm -f "$DESTDIR$LIBDIR/libmemscope.so" ;;
esac
file 755 "$BUILD/nulldevice/libmemscope_null.so" "$LIBDIR/memscope/libmemscope_null.so"
for name in "$BUILD"/nulldevice/*.so.*; do
    name=$(basename "$name")
    case $action in
    install) ln -sf libmemscope_null.so "$DESTDIR$LIBDIR/memscope/$name" ;;
    uninstall) rm -f "$DESTDIR$LIBDIR/memscope/$name" ;;
    esac
done
files 644 "$DATADIR/memscope/python/memscope_torch" scripts/memscope_torch/*.py
files 644 "$DATADIR/memscope/python/memscope_torch/inject" scripts/memscope_torch/inject/*.py
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
for completion in completions/*; do
    case $completion in
    *.bash) file 644 "$completion" "$DATADIR/bash-completion/completions/memscope" ;;
    *_memscope | *.zsh) file 644 "$completion" "$DATADIR/zsh/$ZSH_FOLDER/_memscope" ;;
    *.fish) file 644 "$completion" "$DATADIR/fish/vendor_completions.d/memscope.fish" ;;
    esac
done
if [ "$action" = uninstall ]; then
    python=$DATADIR/memscope/python
    for folder in "$LIBDIR/memscope" "$python/memscope_torch/inject" "$python/memscope_torch" "$python" \
        "$INCLUDEDIR/memscope" "$DATADIR/memscope/configs" "$DATADIR/memscope/schemas" \
        "$DATADIR/memscope" "$DOCDIR"; do
        rmdir "$DESTDIR$folder" 2> /dev/null || true
    done
fi
