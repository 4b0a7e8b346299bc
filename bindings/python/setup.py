# SPDX-License-Identifier: Apache-2.0
"""Builds libpollux into the package.  pyproject.toml has all the rest.

libpollux is a part of the tree two folders above.  The files that it is built from are copied: into
the archive of sources, as the folder libpollux, and for a build into a folder of that build.  There
the makefile finds no room that needs other libraries.
"""
import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
# The makefile's LIB_ROOMS, and what the makefile itself needs.
SOURCES = ("Makefile", "LICENSE", "NOTICE", "include/pollux", "src/base", "src/model", "src/agent",
           "tools/setup", "tools/find-python")


def copy_sources(target):
    """Copy what libpollux is built from, from the archive of sources or from the tree."""
    origin = HERE / "libpollux"
    if not origin.is_dir():
        origin = HERE.parents[1]
    for name in SOURCES:
        source, copy = origin / name, Path(target) / name
        if not source.exists():
            raise SystemExit(f"pollux: {source} is missing: build in a whole source tree of Pollux")
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy)
        else:
            shutil.copy2(source, copy)


class BuildWithLibrary(build_py):
    """Adds libpollux and the licence to the package."""

    def run(self):
        super().run()
        if not getattr(self, "editable_mode", False):
            self._build_library()

    def _build_library(self):
        tree = Path(self.get_finalized_command("build").build_temp).absolute() / "libpollux"
        shutil.rmtree(tree, ignore_errors=True)
        copy_sources(tree)
        without = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "FLAVOUR", "B")  # of a make that runs pip
        environment = {name: value for name, value in os.environ.items() if name not in without}
        try:
            subprocess.run(["make", "-j2", "B=build", "LDFLAGS=" + environment.get("LDFLAGS", "-s"),
                            "build/libpollux.so"], cwd=tree, env=environment, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"pollux: libpollux cannot be built in {tree}: {error}; it needs "
                             "make, a C compiler and xxhash.h (Debian: libxxhash-dev)") from None
        package = Path(self.build_lib) / "pollux"
        soname = os.readlink(tree / "build" / "libpollux.so")
        shutil.copy2(tree / "build" / soname, package / soname)
        for name in ("LICENSE", "NOTICE"):
            shutil.copy2(tree / name, package / name)


class SourcesWithLibrary(sdist):
    """Adds the sources of libpollux to the archive."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        copy_sources(Path(base_dir) / "libpollux")


class WheelOfPlatform(bdist_wheel):
    """For any Python 3 of this platform: the package is Python, libpollux has no Python in it."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class PlatformDistribution(Distribution):
    """Not for all platforms, although there is no extension module."""

    def has_ext_modules(self):
        return True


setup(distclass=PlatformDistribution,
      cmdclass={"build_py": BuildWithLibrary, "sdist": SourcesWithLibrary,
                "bdist_wheel": WheelOfPlatform})
