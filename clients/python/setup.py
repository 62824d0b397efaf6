"""Adds perfd.pth to the modules of pyproject.toml: a file that Python reads when it starts, which setuptools has no setting for."""

import os

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildModules(build_py):
    """Builds the modules, and perfd.pth beside them."""

    def run(self):
        """Copy the files."""
        super().run()
        self.copy_file("perfd.pth", os.path.join(self.build_lib, "perfd.pth"))


setup(cmdclass={"build_py": BuildModules})
