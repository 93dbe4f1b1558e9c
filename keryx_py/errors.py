"""The one base class of every error that keryx expects and explains."""


class KeryxError(Exception):
    """An expected failure; its text is one sentence that can be shown to the person."""
