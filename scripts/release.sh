#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# release.sh [FOLDER]: all files of a release, made of the committed tree, in FOLDER (build/dist), which
# must be new or empty:
#
#   memscope-VERSION.tar.xz                  the source
#   memscope-VERSION-linux-x86_64.tar.xz     a program that needs no libraries, with the null device, manual
#   memscope-VERSION-linux-aarch64.tar.xz    pages, completions and licences; unpack it anywhere
#   *.deb                                    Debian packages, of this machine's architecture
#   memscope-VERSION.spdx.json               the bill of materials: what the programs are linked with
#   SHA256SUMS                               of all of these
#
# Needs Debian on x86-64 with the packages that it names; those for arm64 after
# `dpkg --add-architecture arm64`. Nothing is installed. The same tree gives the same archives.
set -eu
case ${1:-} in '' | /*) folder=${1:-build/dist} ;; *) folder=$(pwd)/$1 ;; esac
cd "$(dirname "$0")/.."
. scripts/setup.sh
# shellcheck disable=SC2086
demand $BUILD_PACKAGES $STATIC_PACKAGES $DEB_PACKAGES $RELEASE_PACKAGES $ARM64_PACKAGES
git rev-parse -q --verify HEAD > /dev/null 2>&1 || {
    echo "memscope: a release is made of a commit, and this folder is no clone" >&2
    exit 2
}
[ -z "$(ls -A "$folder" 2> /dev/null)" ] || {
    echo "memscope: $folder has files; a release goes to an empty folder" >&2
    exit 2
}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
version=$(sed -n 's/^.define MS_VERSION "\(.*\)"/\1/p' include/memscope/memscope.h)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/memscope-$version
git archive --prefix="memscope-$version/" HEAD | tar -x -C "$work"

# pack NAME: the folder below $work as an archive, the same bytes for the same files
pack() {
    tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$1" |
        xz -6 -T1 > "$folder/$1.tar.xz"
    xz -t "$folder/$1.tar.xz" && tar -tf "$folder/$1.tar.xz" > /dev/null
}

# ---- what a program is linked with ----

# package_of FILE: the package of a library, and its version; of an archive made here, that of its headers
package_of() {
    case $1 in
    */libcjson.a) name=libcjson-dev$2 ;;
    *) name=$(dpkg-query -S "$(realpath "$1")" 2> /dev/null | sed -n '1s/: .*//p') ;;
    esac
    # shellcheck disable=SC2016
    [ -z "$name" ] || dpkg-query -W -f '${Package} ${source:Package} ${source:Version}\n' "$name"
}

# linked MAP SUFFIX: the packages of the archives that the linker took something from
linked() {
    sed -n 's/^\([^( ]*\.a\)(.*/\1/p' "$1" | sort -u > "$work/linked"
    [ -s "$work/linked" ] || { echo "release.sh: $1 names no archive" >&2; exit 70; }
    while read -r archive; do
        case $archive in */libmemscope.a) continue ;; esac
        found=$(package_of "$archive" "$2")
        [ -n "$found" ] || { echo "release.sh: of no package: $archive" >&2; exit 70; }
        echo "$found"
    done < "$work/linked"
}

# ---- programs ----

# program MACHINE CC STRIP SUFFIX RUN: the archive of one architecture
program() {
    machine=$1 cc=$2 strip=$3 suffix=$4 run=$5
    name=memscope-$version-linux-$machine stage=$work/$name build=build/$machine
    echo "memscope: building for $machine" >&2
    set -- BUILD="$build" CC="$cc" PKG_CONFIG="${cc%gcc}pkg-config" RUN="$run" CFLAGS="-O2 -ffile-prefix-map=$tree=." prefix=/
    (
        cd "$tree" && CC=$cc scripts/static_cjson.sh "build/static-$machine" &&
            make -j"$(cores)" "$@" STATIC_FOLDER="build/static-$machine" LDFLAGS="-Wl,-Map=$work/$machine.map" static &&
            make -j"$(cores)" "$@" DESTDIR="$stage" install
    ) > "$work/log" 2>&1 || { tail -30 "$work/log" >&2; exit 70; }
    # The library is for those who build: it is in the source and in the packages.
    rm -rf "$stage/include" "$stage/lib/pkgconfig" "$stage"/lib/libmemscope.*
    "$strip" -o "$stage/bin/memscope" "$tree/$build/memscope-static"
    "$strip" --strip-unneeded "$stage/lib/memscope/libmemscope_null.so"
    linked "$work/$machine.map" "$suffix" > "$work/found"
    sort -u "$work/found" > "$work/$machine.packages"
    mkdir -p "$stage/share/doc/memscope/licenses"
    cp "$tree/README.md" "$tree/CHANGELOG.md" "$stage/share/doc/memscope"
    while read -r package _; do
        cp "/usr/share/doc/$package/copyright" "$stage/share/doc/memscope/licenses/$package"
    done < "$work/$machine.packages"
    $run "$stage/bin/memscope" analyze gpt2 --format json -o - > "$work/$machine.json"
    cmp "$work/$machine.json" "$work/x86_64.json"
    pack "$name"
}

program x86_64 x86_64-linux-gnu-gcc x86_64-linux-gnu-strip :amd64 ""
program aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-strip :arm64 qemu-aarch64-static

# ---- source and packages ----

rm -rf "$tree"
git archive --prefix="memscope-$version/" HEAD | tar -x -C "$work"
pack "memscope-$version"
echo "memscope: building the Debian packages" >&2
sh scripts/debian.sh > "$work/log" 2>&1 || { tail -30 "$work/log" >&2; exit 70; }
cp build/deb/*.deb "$folder"

# ---- the bill of materials ----

# licence SOURCE: as SPDX writes it
licence() {
    case $1 in
    cjson | libyaml) echo MIT ;;
    glibc | cross-toolchain-base* | libtool) echo LGPL-2.1-or-later ;;
    glpk) echo GPL-3.0-or-later ;;
    gmp) echo "LGPL-3.0-or-later OR GPL-2.0-or-later" ;;
    suitesparse) echo BSD-3-Clause ;;
    zlib) echo Zlib ;;
    gcc-*) echo "GPL-3.0-or-later WITH GCC-exception-3.1" ;;
    *) echo NOASSERTION ;;
    esac
}

system=$(sed -n 's/^ID=//p' /etc/os-release)
case $system in ubuntu) maker=Ubuntu ;; *) system=debian maker=Debian ;; esac

described() {
    cat << END
    {"SPDXID": "SPDXRef-memscope", "name": "memscope", "versionInfo": "$version", "supplier": "NOASSERTION",
     "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseConcluded": "GPL-3.0-or-later",
     "licenseDeclared": "GPL-3.0-or-later", "copyrightText": "NOASSERTION"}
END
    while read -r package source number; do
        cat << END
    ,{"SPDXID": "SPDXRef-$package", "name": "$package", "versionInfo": "$number", "supplier": "Organization: $maker",
     "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseConcluded": "NOASSERTION",
     "licenseDeclared": "$(licence "$source")", "copyrightText": "NOASSERTION", "sourceInfo": "built from the source package $source",
     "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:deb/$system/$package@$(echo "$number" | sed 's/+/%2B/g; s/:/%3A/g; s/~/%7E/g')"}]}
END
    done < "$work/packages"
}

files() {
    comma=
    for file in "$folder"/*.tar.xz; do
        cat << END
    $comma{"SPDXID": "SPDXRef-file-$(basename "$file" | tr _ -)", "fileName": "./$(basename "$file")", "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
     "checksums": [{"algorithm": "SHA1", "checksumValue": "$(sha1sum < "$file" | cut -d' ' -f1)"},
                   {"algorithm": "SHA256", "checksumValue": "$(sha256sum < "$file" | cut -d' ' -f1)"}]}
END
        comma=,
    done
}

relations() {
    echo '    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-memscope"}'
    for file in "$folder"/*.tar.xz; do
        echo "    ,{\"spdxElementId\": \"SPDXRef-file-$(basename "$file" | tr _ -)\", \"relationshipType\": \"DISTRIBUTION_ARTIFACT\", \"relatedSpdxElement\": \"SPDXRef-memscope\"}"
    done
    while read -r package _; do
        echo "    ,{\"spdxElementId\": \"SPDXRef-memscope\", \"relationshipType\": \"STATIC_LINK\", \"relatedSpdxElement\": \"SPDXRef-$package\"}"
    done < "$work/packages"
}

sort -u "$work"/*.packages > "$work/packages"
cat > "$folder/memscope-$version.spdx.json" << END
{
  "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "memscope-$version",
  "documentNamespace": "https://spdx.org/spdxdocs/memscope-$version-$(git rev-parse HEAD)",
  "creationInfo": {"created": "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)", "creators": ["Tool: memscope-release-$version"]},
  "packages": [
$(described)
  ],
  "files": [
$(files)
  ],
  "relationships": [
$(relations)
  ]
}
END
(cd "$folder" && sha256sum -- * > "$work/sums" && mv "$work/sums" SHA256SUMS)
ls -l "$folder" | awk 'NR > 1 { print $5, $9 }'
