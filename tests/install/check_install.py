#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs into folders of several layouts, runs what is there, uninstalls; compares what is installed with
the lists of debian/, and the lines of README.md and docs/install.md with the packages that they need."""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("BUILD", "build/release")
CONFIG = os.environ.get("CONFIG", "release")
TRIPLET = "x86_64-linux-gnu"  # stands for any: the lists of debian/ have a pattern there

# A layout: variables of make, and where the program is then.
LAYOUTS = {
    "default": ([], "usr/local/bin"),
    "prefix": (["prefix=/opt/memscope"], "opt/memscope/bin"),
    "capitals": (["PREFIX=/usr"], "usr/bin"),
    "other folders": (["prefix=/usr", "libdir=/usr/lib64", "datadir=/srv/data", "mandir=/srv/man"], "usr/bin"),
    "other program folder": (["bindir=/srv/tools/bin"], "srv/tools/bin"),
}


def make(*words):
    done = subprocess.run(["make", "--no-print-directory", f"BUILD={BUILD}", f"CONFIG={CONFIG}", *words],
                          cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def files_below(folder):
    return {str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if p.is_symlink() or p.is_file()}


# ---- layouts ----

def check_layout(folder, layout):
    """The program finds its parts, in a Python that has no torch too; uninstall, without the build, leaves
    nothing."""
    variables, home = LAYOUTS[layout]
    make("install", f"DESTDIR={folder}", *variables)
    program = f"{folder}/{home}/memscope"
    out = f"{folder}/out"
    for words, said in ((["true"], "memscope: found no Python process of true to follow and no use of CUDA; it exited with status 0\n"),
                        ([sys.executable, "-I", "-S", "-c", "0"], "to follow and no use of CUDA; it exited"),
                        ([sys.executable, "-S", "-c", "import sitecustomize"], "torch")):
        ran = subprocess.run([program, "capture", "--out", out, "--", *words], capture_output=True, text=True,
                             env={**os.environ, "LSAN_OPTIONS": "detect_leaks=0"}, check=False)
        assert said in ran.stderr and len(ran.stderr.splitlines()) == 1, (words, ran)
        assert ran.returncode == 2, ran
    shutil.rmtree(out)
    for name in files_below(folder):
        target = pathlib.Path(folder, name)
        assert target.exists(), f"{name} is a link to nothing"
    make("uninstall", f"DESTDIR={folder}", "BUILD=build/nowhere", *variables)
    left = list(pathlib.Path(folder).rglob("*"))
    assert not left, left


def check_prefix(folder):
    """Without DESTDIR: a prefix of one's own is left empty, and what is beside it is left alone."""
    prefix = pathlib.Path(folder, "a prefix", "here")
    (prefix / "empty").mkdir(parents=True)
    make("install", f"prefix={prefix}")
    assert "prefix" in (prefix / "lib/pkgconfig/memscope.pc").read_text()
    make("uninstall", f"prefix={prefix}")
    assert [p.name for p in prefix.iterdir()] == ["empty"], list(prefix.rglob("*"))


def check_foreign(folder):
    """What others put beside memscope's files stays, and compiled Python goes."""
    make("install", f"DESTDIR={folder}", "prefix=/usr")
    kept = ["usr/lib/memscope/other.so", "usr/share/memscope/mine.json", "usr/bin/other"]
    for name in kept:
        pathlib.Path(folder, name).write_text("")
    python = pathlib.Path(folder, "usr/share/memscope/python")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(python)], check=True)
    make("uninstall", f"DESTDIR={folder}", "prefix=/usr")
    assert files_below(folder) == set(kept), files_below(folder)
    assert not python.exists()


# ---- Debian's packages ----

def lines_of(name):
    return [line.strip() for line in (TOP / "debian" / name).read_text().splitlines() if line.strip()]


def takes(pattern, name):
    """As dh_install does: a pattern matches a file or a folder with all below; a star stops at a slash."""
    wanted, parts = pattern.split("/"), name.split("/")
    return len(wanted) <= len(parts) and all(fnmatch.fnmatchcase(p, w) for w, p in zip(wanted, parts))


def packaged(folder):
    """What debian/rules installs, with its own variables."""
    rules = (TOP / "debian/rules").read_text()
    variables = re.search(r"^VARIABLES = (.*)", rules, re.M).group(1).replace("$(DEB_HOST_MULTIARCH)", TRIPLET).split()
    exported = re.findall(r"^export (ZSH_FOLDER) = (\S+)", rules, re.M)
    for name, value in exported:
        os.environ[name] = value
    make("install", f"DESTDIR={folder}", *variables)
    for name, _ in exported:
        del os.environ[name]
    for name in re.findall(r"^\trm debian/tmp/(\S+)", rules, re.M):
        pathlib.Path(folder, name).unlink()
    return files_below(folder)


def check_packages(folder):
    """Each file is in one package or in debian/not-installed, and each pattern has a file: what dh_missing
    and dh_install ask for."""
    names = packaged(folder)
    lists = {p.name: lines_of(p.name) for p in sorted((TOP / "debian").glob("*.install"))}
    lists["not-installed"] = lines_of("not-installed")
    for name in sorted(names):
        takers = [f"{each}: {pattern}" for each, patterns in lists.items() for pattern in patterns if takes(pattern, name)]
        assert len(takers) == 1, f"{name} is in {takers or 'no package'}"
    for each, patterns in lists.items():
        for pattern in patterns:
            assert any(takes(pattern, name) for name in names), f"debian/{each}: {pattern} names nothing"


PARTS = {
    "memscope": ["usr/bin/memscope", "usr/lib/memscope/libmemscope_null.so", "usr/lib/memscope/libcuda.so.1",
                 "usr/share/memscope/python/memscope_torch/capture.py",
                 "usr/share/memscope/python/memscope_torch/inject/sitecustomize.py",
                 "usr/share/memscope/schemas/static_report.schema.json", "usr/share/memscope/configs/gpt2.json",
                 "usr/share/man/man1/memscope.1", "usr/share/man/man1/memscope-capture.1",
                 "usr/share/bash-completion/completions/memscope", "usr/share/zsh/vendor-completions/_memscope",
                 "usr/share/fish/vendor_completions.d/memscope.fish"],
    "libmemscope0": [f"usr/lib/{TRIPLET}/libmemscope.so.0"],
    "libmemscope-dev": ["usr/include/memscope/memscope.h", f"usr/lib/{TRIPLET}/libmemscope.a",
                        f"usr/lib/{TRIPLET}/libmemscope.so", f"usr/lib/{TRIPLET}/pkgconfig/memscope.pc"],
}


def check_parts(folder):
    """Each package has what it is for."""
    names = packaged(folder)
    for package, wanted in PARTS.items():
        patterns = lines_of(f"{package}.install")
        for name in wanted:
            assert name in names and any(takes(p, name) for p in patterns), f"{package} lacks {name}"
    pages = subprocess.run([f"{folder}/usr/bin/memscope", "help", "--man"], capture_output=True, text=True, check=True)
    for page in pages.stdout.split():
        assert f"usr/share/man/man{page[-1]}/{page}" in names, page


# ---- packages that the documents' lines need ----

def packages_of(name):
    """A list of scripts/setup.sh."""
    return set(re.search(rf'^{name}="([^"]*)"', (TOP / "scripts/setup.sh").read_text(), re.M).group(1).split())


def named_before(document, command):
    """The packages that a document has installed before a command."""
    text = (TOP / document).read_text()
    there = re.search(rf"^{re.escape(command)}\b", text, re.M)
    assert there, f"{document} does not have the line {command}"
    return {word for line in re.findall(r"^sudo apt-get install (.*)", text[:there.start()], re.M) for word in line.split()}


def build_depends():
    text = re.search(r"^Build-Depends: (.*)", (TOP / "debian/control").read_text(), re.M).group(1)
    names = {re.sub(r" *\(.*?\)", "", each).strip() for each in text.split(",")}
    same = {"debhelper-compat": "debhelper", "pkgconf": "pkg-config"}
    return {same.get(name, name) for name in names}


def check_documents(folder):
    del folder
    # libc6-dev comes with gcc, as what it recommends: the lines install that too.
    build = packages_of("BUILD_PACKAGES") - {"libc6-dev"}
    for document, command, needed in (("README.md", "make", build), ("docs/install.md", "make", build),
                                      ("docs/install.md", "make deb", packages_of("DEB_PACKAGES") | build_depends()),
                                      ("docs/install.md", "make static", packages_of("STATIC_PACKAGES"))):
        lacking = needed - named_before(document, command)
        assert not lacking, f"{document} does not name {lacking} before {command}"


def check_action(folder):
    """The action for GitHub installs what a build needs, recommended packages left out."""
    del folder
    text = (TOP / "ci/github/action.yml").read_text()
    named = {word for line in re.findall(r"apt-get install (.*)", text) for word in line.split()}
    assert packages_of("BUILD_PACKAGES") <= named, packages_of("BUILD_PACKAGES") - named


def main():
    rows = [(f"layout, {layout}", lambda folder, layout=layout: check_layout(folder, layout)) for layout in LAYOUTS]
    rows += [("prefix alone", check_prefix), ("foreign files", check_foreign), ("packages", check_packages), ("parts", check_parts),
             ("documents", check_documents), ("action", check_action)]
    passed = failed = 0
    for name, check in rows:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(folder)
                passed += 1
            except (AssertionError, OSError, AttributeError, subprocess.CalledProcessError) as fault:
                failed += 1
                print(f"install/{name}: {type(fault).__name__} {fault}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
