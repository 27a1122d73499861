"""Put compiled kernels into a wheel, if ``SUMWISE_LIBRARY`` names the folder that has them.

Such a wheel is for one platform, and needs no Numba. Without the variable, the wheel is for all
platforms, and requires Numba: so `pip install .` takes no longer than it did.
"""

import os
import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_VARIABLE = "SUMWISE_LIBRARY"


def _find_libraries() -> list[Path]:
    folder = os.environ.get(_VARIABLE)
    if not folder:
        return []
    found = sorted(path for path in Path(folder).iterdir() if path.suffix in (".so", ".dll"))
    if not found:
        raise FileNotFoundError(f"{_VARIABLE}={folder} has no library; run build_tools.library")
    return found


def _name_platform() -> str:
    machine = platform.machine().lower()
    if sys.platform == "linux":
        # The libraries call only memset, sched_yield, madvise and syscall, which every glibc has.
        return f"manylinux2014_{machine}"
    if sys.platform == "darwin":
        return f"macosx_11_0_{machine}"
    return "win_arm64" if machine == "arm64" else "win_amd64"


class CustomBuildHook(BuildHookInterface):
    """Adds the libraries to the package, and names the wheel after its platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Hatch calls this before it builds a wheel."""
        libraries = _find_libraries() if version == "standard" else []
        if self.target_name != "wheel" or not libraries:
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_name_platform()}"
        for path in libraries:
            build_data["force_include"][str(path)] = f"sumwise/compiled_kernels/{path.name}"


class CustomMetadataHook(MetadataHookInterface):
    """Requires Numba where no compiled kernels are in the wheel."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Hatch calls this before it writes the metadata."""
        needed = list(self.config["dependencies"])
        if not _find_libraries():
            needed += metadata["optional-dependencies"]["compile"]
        metadata["dependencies"] = needed
