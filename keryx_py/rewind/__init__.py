"""Going back: where to, what that would change, and doing exactly that."""
