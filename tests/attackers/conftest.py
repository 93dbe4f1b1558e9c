"""A project of an attacker's making, and a way to sit at the shell on it."""

from tests.cases.conftest import root, sit

__all__ = ["root", "sit"]
