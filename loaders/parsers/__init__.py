"""Parse line formats, one SQL file each."""
