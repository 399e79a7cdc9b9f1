"""Answer questions with a form (counts, comparisons, and, or) by combining the answers to plain questions."""
