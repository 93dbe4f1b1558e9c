"""What the files were: walk the work tree, keep it in a shadow repository, read it back."""
