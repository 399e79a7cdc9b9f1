"""The source formats, one file or folder each."""
