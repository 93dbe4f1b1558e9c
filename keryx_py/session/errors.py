"""What can go wrong with a session; each text can be shown to the person."""

from __future__ import annotations

from keryx_py.errors import KeryxError


class SessionError(KeryxError):
    """The session cannot be opened, written or removed; the text says why and the way on."""


class NoSuchSessionError(SessionError):
    """No session has that id, or more than one begins with it."""


class HeldError(SessionError):
    """Another process holds the session's lease; the text says which."""


class LeaseLostError(SessionError):
    """This process no longer holds the lease, and writes nothing more."""
