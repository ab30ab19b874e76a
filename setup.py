# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the C parts with make, and puts them into the wheel: everything else is in pyproject.toml.

In the wheel are the package, with libmemscope.so in memscope/lib; the program, which pip puts on the
PATH; and, below share/memscope, what the program needs (scripts/wheel_files.sh)."""
import os
import pathlib
import platform
import re
import shutil
import subprocess

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

# Of setuptools too, which brings it where Python has none any more; so it comes after it.
from distutils.command.build_scripts import build_scripts  # isort: skip
from distutils.command.install_data import install_data  # isort: skip

TOP = pathlib.Path(__file__).resolve().parent
BUILD = os.environ.get("BUILD", "build/release")
WHEEL = TOP / BUILD / "wheel"
TORCH = "scripts/memscope_torch"
VERSION = re.search(r'MS_VERSION "(.*)"', (TOP / "include/memscope/memscope.h").read_text())[1]


def make():
    jobs = f"-j{os.cpu_count() or 1}"
    subprocess.run(["make", "-s", jobs, f"BUILD={BUILD}", "wheel-files"], cwd=TOP, check=True)


def below(folder):
    return [path for path in sorted((WHEEL / folder).rglob("*")) if path.is_file()]


class BuildPackage(build_py):
    def run(self):
        super().run()
        make()
        target = pathlib.Path(self.build_lib, "memscope/lib")
        target.mkdir(parents=True, exist_ok=True)
        for path in below("lib"):
            shutil.copy2(path, target / path.name)


class BuildProgram(build_scripts):
    """A program as it is: no line of it names a Python."""

    def run(self):
        make()
        self.mkpath(self.build_dir)
        self.copy_file(str(WHEEL / "bin/memscope"), self.build_dir)


class InstallShared(install_data):
    def run(self):
        make()
        self.data_files = list(self.data_files)
        for path in below("share"):
            self.data_files.append((f"share/memscope/{path.parent.name}", [str(path)]))
        super().run()


class Wheel(bdist_wheel):
    """For any Python 3, and for systems whose C library is not older than what the parts ask for."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        make()
        asked = {(0, 0)}
        for path in below("."):
            said = subprocess.run(["readelf", "-V", str(path)], capture_output=True, text=True, check=False).stdout
            asked |= {(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", said)}
        major, minor = max(asked)
        if major == 0:
            return "py3", "none", super().get_tag()[2]
        return "py3", "none", f"manylinux_{major}_{minor}_{platform.machine()}"


setup(
    version=VERSION,
    packages=["memscope", "memscope.pytorch", "memscope_torch", "memscope_torch.inject"],
    package_dir={"memscope": "python/memscope", "memscope_torch": TORCH, "memscope_torch.inject": f"{TORCH}/inject"},
    package_data={"memscope": ["py.typed"]},
    scripts=[f"{BUILD}/wheel/bin/memscope"],
    data_files=[(f"share/memscope/python/{folder}", sorted(str(p.relative_to(TOP)) for p in (TOP / source).glob("*.py")))
                for folder, source in (("memscope_torch", TORCH), ("memscope_torch/inject", f"{TORCH}/inject"))],
    cmdclass={"build_py": BuildPackage, "build_scripts": BuildProgram, "install_data": InstallShared,
              "bdist_wheel": Wheel},
    zip_safe=False,
)
