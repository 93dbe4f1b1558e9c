"""What was said: the archive of a session, and the context worked out from it."""
