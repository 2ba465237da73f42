"""The native environment: the tools of a dataset answered in this process, as VAKRA's released servers answer."""

from __future__ import annotations

from toolenv.native.environment import NativeEnvironment
from toolenv.native.session import NativeSession

__all__ = ["NativeEnvironment", "NativeSession"]
