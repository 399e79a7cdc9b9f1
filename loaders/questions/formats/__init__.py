"""The published formats of question sets, one file each."""
