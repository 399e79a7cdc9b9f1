"""ReG@Entity."""
