"""The command line: verbs, one file each."""
