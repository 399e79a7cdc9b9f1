"""The parsers of formats of lines, one SQL file each."""
