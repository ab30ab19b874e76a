#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# release_check.sh [OPTION...] [SYSTEM...]: the commands of README.md and docs/, taken from them, in bare chroots that
# debootstrap makes, on a clone of the committed tree. SYSTEM is debian/CODENAME or ubuntu/CODENAME; without
# any, Debian 12 and Ubuntu 24.04.
#
#   --base FOLDER   keep there what debootstrap made, and use it the next time
#   --only WORD     only the checks that begin so: quickstart, test, install, deb, static, release, container
#   --torch FOLDER  site-packages with PyTorch for CUDA, for the distribution's own Python: the Python
#                   program of docs/capture.md is captured by the installed package
#
# Needs root, debootstrap, git and mirrors of both (DEBIAN_MIRROR, UBUNTU_MIRROR). Works in a folder below
# TMPDIR, which it removes; mounts end with it, as they are in a namespace of their own. Half an hour.
# The last line is "N passed, M failed".
set -u
cd "$(dirname "$0")/.." || exit 2
top=$(pwd)
base='' only='' torch='' passed=0 failed=0
while [ $# -gt 0 ]; do
    case $1 in
    --base) mkdir -p "$2" && base=$(cd "$2" && pwd) && shift 2 || exit 2 ;;
    --only) only=$2 && shift 2 || exit 2 ;;
    --torch) torch=$(cd "$2" && pwd) && shift 2 || exit 2 ;;
    -*) sed -n 's/^# //p' "$0" | sed -n '2,$p' >&2 && exit 2 ;;
    *) break ;;
    esac
done
[ "$(id -u)" -eq 0 ] && command -v debootstrap > /dev/null || { echo "release_check.sh: needs root and debootstrap" >&2; exit 2; }
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM HUP
root=$work/root logs=$top/build/release_check
mkdir -p "$logs"

# ---- a bare system ----

# make_base SYSTEM TAR: sudo is the one package beside the smallest system.
make_base() {
    codename=${1#*/} components=main keys='' script=''
    case $1 in
    debian/*) mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian} suites="$codename $codename-updates" ;;
    *)
        components=main,universe mirror=${UBUNTU_MIRROR:-https://archive.ubuntu.com/ubuntu}
        suites="$codename $codename-updates $codename-security"
        # All releases of Ubuntu are made alike; an older debootstrap does not know the name.
        [ -e "/usr/share/debootstrap/scripts/$codename" ] || script=/usr/share/debootstrap/scripts/gutsy
        # Without Ubuntu's keys the connection to the mirror vouches for it; the system made has the keys.
        [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || keys=--no-check-gpg
        ;;
    esac
    # shellcheck disable=SC2086
    debootstrap $keys --variant=minbase --components=$components --include=sudo "$codename" "$root" "$mirror" $script > "$work/log" 2>&1 &&
        for suite in $suites; do echo "deb http://${mirror#*://} $suite $(echo $components | tr , ' ')"; done > "$root/etc/apt/sources.list" &&
        tar -C "$root" --one-file-system -cf "$2.new" . && mv "$2.new" "$2"
}

# fresh: a bare system with a clone that belongs to the user "someone", who may use sudo
fresh() {
    rm -rf --one-file-system "$root"
    mkdir -p "$root" && tar -C "$root" -xf "$tar" && cp /etc/resolv.conf "$root/etc/resolv.conf" &&
        printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" && chmod 755 "$root/usr/sbin/policy-rc.d" &&
        echo "127.0.0.1 localhost $(uname -n)" > "$root/etc/hosts" &&
        chroot "$root" useradd --create-home --shell /bin/sh someone &&
        echo 'someone ALL=(ALL) NOPASSWD: ALL' > "$root/etc/sudoers.d/someone" &&
        git clone -q --no-local "$top" "$root/home/someone/memscope" &&
        chroot "$root" chown -R someone: /home/someone && return
    echo "$system: no system could be made" && failed=$((failed + 1)) && return 1
}

# inside USER SCRIPT: in the clone, with a clean environment and strict about errors. Mounts are this
# namespace's own, and processes that are left end with it.
inside() {
    unshare --mount --pid --fork --kill-child sh -ec '
        mkdir -p "$1/torch" "$1/outside"
        mount --bind "$1" "$1"
        mount --make-private "$1"
        mount -t proc proc "$1/proc"
        mount -t tmpfs tmpfs "$1/dev/shm"
        [ -z "$4" ] || mount --bind -o ro "$4" "$1/torch"
        cd "$1"
        pivot_root . outside
        umount -l outside
        exec chroot . setpriv --reuid "$2" --regid "$2" --init-groups env -i HOME="/home/$2" \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -exc "cd /home/someone/memscope
fails() { if \"\$@\"; then exit 1; fi; }
find_any() { find \"\$@\" -xdev \( -type f -o -type l \) -path \"*memscope*\" | grep .; }
$3"' sh "$root" "$1" "$2" "$torch" < /dev/null
}

# ---- checks ----

# check NAME USER SCRIPT: one line with the time it took; what it said is in build/release_check, and its end
# here where it failed
check() {
    started=$(date +%s) verdict=ok log=$logs/$(echo "$system/$1" | tr / -).log
    if inside "$2" "$3" > "$log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)) verdict=FAILED
        tail -60 "$log"
    fi
    printf '%-42s %s (%d s)\n' "$system/$1" $verdict $(($(date +%s) - started))
    [ $verdict = ok ]
}

# lines_with COMMAND: the first block of shell commands, of README.md and the manual, that has a line which
# begins with it
lines_with() {
    awk -v wanted="$1" '/^```/ { if (inside && found) { printf "%s", block; exit }
                                 inside = $0 == "```sh"; block = ""; found = 0; next }
                        inside { block = block $0 "\n"; if (index($0, wanted) == 1) found = 1 }' "$top/README.md" "$top/docs/install.md" "$top/docs/library.md"
}

# Nobody is there to say yes.
no_questions='sudo tee /etc/apt/apt.conf.d/release_check > /dev/null << END
APT::Get::Assume-Yes "true"; DPkg::Use-Pty "false";
END
export DEBIAN_FRONTEND=noninteractive
sudo apt-get update -qq
'
# What an installed program must do; in a folder of its own, so that nothing of the clone is near.
installed='cd "$(mktemp -d)"
memscope --version
memscope analyze --config llama-3.1-8b --seq 4096 --device h100-80gb --format json -o - > report.json
grep -q peak_memory_bytes report.json
test "$(memscope sweep gpt2 --batch 1:3 --format csv | wc -l)" -eq 4
fails memscope capture -- true 2> said
grep -qx "memscope: found no Python process of true to follow and no use of CUDA; it exited with status 0" said
sudo apt-get install -qq python3 > /dev/null
fails memscope capture -- python3 -c "import torch" 2> said
cat said
test "$(grep -c "^memscope: .*No module named .torch" said)" -eq 1
'
# remains FOLDER...: what install put down and remove left
remains='fails find_any "$@"
'

chosen() {
    case $1 in "$only"*) ;; *) return 1 ;; esac
}

check_install() {
    fresh && check install someone "$no_questions$(lines_with 'sudo make install')
$installed
man_pages=\$(memscope help --man | wc -l)
test \"\$(find /usr/local/share/man -name 'memscope*' | wc -l)\" -gt \"\$man_pages\"
cd ~/memscope
sudo make uninstall prefix=/usr/local
set -- /usr/local
$remains"
}

# After the README's first lines, in the same system.
check_deb() {
    fresh && check deb someone "$no_questions$(lines_with 'sudo make install' | grep -v '^sudo make install')
$(lines_with 'make deb')
$installed
for page in \$(memscope help --man); do test -e \"/usr/share/man/man\${page##*.}/\$page.gz\"; done
for file in bash-completion/completions/memscope zsh/vendor-completions/_memscope fish/vendor_completions.d/memscope.fish \
    memscope/schemas/static_report.schema.json memscope/configs/gpt2.json; do test -s /usr/share/\$file; done
cd ~/memscope
sudo apt-get install ./build/deb/libmemscope0_*.deb ./build/deb/libmemscope-dev_*.deb > /dev/null
sed -n '/^ \* Five calls:/,/^ \* A call/s/^ \*     /    /p' /usr/include/memscope/memscope.h > body
{ echo '#include <memscope/memscope.h>'; echo 'int main(void) {'; cat body; echo '}'; } > example.c
$(lines_with 'cc $(pkg-config')
./a.out | grep GiB
cc -static-libgcc \$(pkg-config --cflags memscope) example.c -l:libmemscope.a \$(pkg-config --libs --static memscope | sed 's/-lmemscope//') -o example
./example | grep GiB"
}

# The first Python program of docs/capture.md, in a Python that has torch.
check_deb_capture() {
    [ -n "$torch" ] || return 0
    sed -n '/^```python/,/^```/p' docs/capture.md | sed -n '2,/^```/p' | sed '$d' > "$root/tmp/train.py"
    check deb/capture someone 'cd "$(mktemp -d)"
export PYTHONPATH=/torch
said=$(sed -n "s/^print(t)  # //p" /tmp/train.py)
memscope capture -- python3 /tmp/train.py 2>&1 | tee said
grep -qxF "$said" said
test -s memscope-capture/runtime_report.json'
}

check_deb_removed() {
    check deb/removed someone "sudo apt-get remove -qq memscope libmemscope0 libmemscope-dev
set -- /usr
$remains"
}

check_static() {
    fresh && check static someone "$no_questions$(lines_with 'sudo make install' | grep -v '^sudo make install')
$(lines_with 'make static')
fails ldd build/release/memscope-static
build/release/memscope-static analyze gpt2 --format json -o - > static.json
build/release/memscope analyze gpt2 --format json -o - | cmp - static.json"
}

# What a release has, made in one bare system and tried in others that have nothing but the smallest system.
check_release() {
    fresh && check release someone "$no_questions$(lines_with 'sudo dpkg --add-architecture')
cd build/dist
sha256sum -c --quiet SHA256SUMS
grep -q STATIC_LINK memscope-*.spdx.json" || return
    rm -rf "$work/dist" && cp -r "$root/home/someone/memscope/build/dist" "$work/dist" && chmod -R a+rX "$work/dist"
    cp "$root/usr/bin/qemu-aarch64-static" "$work/" && fresh && cp -r "$work/dist" "$root/dist" && cp "$work/qemu-aarch64-static" "$root/usr/bin/" || return
    sudo_xz='sudo apt-get install -qq xz-utils > /dev/null
'
    check release/x86_64 someone "$no_questions$sudo_xz$unpacked
PATH=\"\$(pwd)/\$(echo memscope-*-linux-x86_64)/bin:\$PATH\"
$installed"
    check release/aarch64 someone "$unpacked
memscope-*-linux-x86_64/bin/memscope plan llama-3.2-1b --batch 4 --seq 2048 --device rtx-4090 > x86_64
qemu-aarch64-static memscope-*-linux-aarch64/bin/memscope plan llama-3.2-1b --batch 4 --seq 2048 --device rtx-4090 > aarch64
cmp x86_64 aarch64"
    check release/source someone "$no_questions$sudo_xz$(lines_with 'sudo make install' | grep apt-get)
mkdir ~/source && cd ~/source
tar -xJf /dist/memscope-*[0-9].tar.xz
make -s -C memscope-*
memscope-*/build/release/memscope analyze gpt2 | grep GiB"
}
unpacked='mkdir ~/try && cd ~/try
for archive in /dist/*-linux-*.tar.xz; do tar -xJf "$archive"; done
fails ldd memscope-*-linux-x86_64/bin/memscope
test -s memscope-*-linux-x86_64/share/doc/memscope/licenses/libglpk-dev
'

# The image, on a base that is this bare system, by a builder that needs no daemon.
check_container() {
    fresh && cp "$tar" "$root/base.tar" && check container root "$(echo "$no_questions" | sed 's/sudo //g')
apt-get install -qq --no-install-recommends buildah > /dev/null
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
base=\$(buildah from scratch)
buildah add -q \$base /base.tar /
buildah commit -q \$base docker.io/library/debian:bookworm-slim
buildah bud --pull=false --network host -t memscope -f Containerfile .
image=\$(buildah from --pull=false memscope)
folder=\$(buildah mount \$image)
test \"\$(ls \$folder | sort | tr '\\n' ' ')\" = 'LICENSE memscope work '
chroot \$folder /memscope analyze gpt2 | grep GiB"
}

[ $# -gt 0 ] || set -- debian/bookworm ubuntu/noble
for system in "$@"; do
    tar=${base:-$work}/$(echo "$system" | tr / -).tar
    rm -rf --one-file-system "$root"
    [ -e "$tar" ] || make_base "$system" "$tar" || { cat "$work/log"; failed=$((failed + 1)); continue; }
    # As root where there is no sudo, then as a user.
    if chosen quickstart; then
        fresh && rm "$root/usr/bin/sudo" && check quickstart root "$(lines_with scripts/quickstart.sh | grep quickstart)
test -x build/release/memscope"
    fi
    ! chosen test || { fresh && check test someone "$(lines_with scripts/test.sh | grep test.sh | sed 's/ *#.*//') | tee tests.log
tail -1 tests.log | grep -x '[0-9]* passed, 0 failed'"; }
    ! chosen install || check_install
    ! chosen deb || { check_deb && check_deb_capture && check_deb_removed; }
    ! chosen static || check_static
    case $system in
    debian/*)
        ! chosen release || check_release
        ! chosen container || check_container
        ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
