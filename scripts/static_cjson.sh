#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# static_cjson.sh [FOLDER]: makes FOLDER/libcjson.a (build/static/libcjson.a, where `make static` looks)
# from the distribution's source of cJSON, as Debian and Ubuntu ship a shared library alone. The source is
# of the version whose headers are installed, from the mirrors that apt has. Needs dpkg-dev, not root.
set -eu
cd "$(dirname "$0")/.."
. scripts/setup.sh
folder=${1:-build/static}
# shellcheck disable=SC2086
demand $BUILD_PACKAGES $STATIC_PACKAGES
version=$(dpkg-query -W -f '${source:Version}\n' libcjson-dev | sed -n 1p)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"

# The sources of what the distribution itself (not a third party) installs from here.
# shellcheck disable=SC2016
apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' | sort -u |
    while read -r origin address release component; do
        case $origin in Debian | Ubuntu) ;; *) continue ;; esac
        keys=/usr/share/keyrings/$(echo "$origin" | tr 'DU' 'du')-archive-keyring.gpg
        [ -r "$keys" ] && keys="[signed-by=$keys] " || keys=
        echo "deb-src $keys$address $release $component"
    done > "$work/list"
[ -s "$work/list" ] || {
    echo "memscope: apt has no lists of Debian's or Ubuntu's packages: run apt-get update first" >&2
    exit 2
}

# As any user, so that nothing of the system's own lists is touched.
cat > "$work/apt.conf" << END
Dir::Etc::SourceList "$work/list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$work/lists";
Dir::Cache "$work";
APT::Sandbox::User "";
END
cd "$work"
export APT_CONFIG="$work/apt.conf"
apt-get -qq update
apt-get -qq source "cjson=$version"
${CC:-cc} -O2 -c cjson-*/cJSON.c -o cJSON.o
ar rcs "$folder/libcjson.a" cJSON.o
echo "$folder/libcjson.a"
