"""A line shell for working on a project with a language model, and for taking its work back."""

__version__ = "0.1.0"
