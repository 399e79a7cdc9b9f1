"""ReG@Triple."""
