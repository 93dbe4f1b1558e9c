"""Benchmarks: keryx side by side with git on the same trees, in the same run."""
