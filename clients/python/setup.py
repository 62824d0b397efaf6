"""Adds to the modules of pyproject.toml what setuptools has no setting for: perfd.pth, which Python reads when it starts, and types."""

import os

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildModules(build_py):
    """Builds the modules, with perfd.pth and their types beside them."""

    def run(self):
        """Copy the files."""
        super().run()
        self.copy_file("perfd.pth", os.path.join(self.build_lib, "perfd.pth"))
        for module in self.py_modules:  # type checkers need py.typed, which a single module cannot have, or a package of stubs
            stubs = os.path.join(self.build_lib, f"{module}-stubs")
            self.mkpath(stubs)
            self.copy_file(f"{module}.py", os.path.join(stubs, "__init__.pyi"))


setup(cmdclass={"build_py": BuildModules})
