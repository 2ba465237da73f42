"""Finding the container runtime that has a container."""

from __future__ import annotations

import asyncio
import shutil
from typing import Final

from toolenv.errors import EnvironmentFailure

RUNTIMES: Final = ("podman", "docker")
_INSPECT_S: Final = 20.0


async def runtime_for(container: str, wanted: str | None) -> str:
    """The runtime to call: the one named, else of those installed the first that has the container running.

    With one installed nothing is asked: its own message tells what is wrong. Raises ``EnvironmentFailure``.
    """
    if wanted is not None:
        if shutil.which(wanted) is None:
            raise EnvironmentFailure(
                f"the container runtime {wanted} is not installed; container {container} needs it."
            )
        return wanted
    installed = [name for name in RUNTIMES if shutil.which(name)]
    if not installed:
        raise EnvironmentFailure(f"neither podman nor docker is installed; container {container} needs one of them.")
    if len(installed) > 1:
        for name in installed:
            if await _running(name, container):
                return name
    return installed[0]


async def _running(runtime: str, container: str) -> bool:
    words = (runtime, "container", "inspect", "-f", "{{.State.Running}}", container)
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(*words, stdin=null, stdout=pipe, stderr=null)
    except OSError:
        return False
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _INSPECT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return process.returncode == 0 and output.strip() == b"true"
