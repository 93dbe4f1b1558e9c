"""The command line: flags to settings, settings to objects, objects to the shell."""
