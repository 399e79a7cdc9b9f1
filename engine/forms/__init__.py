"""Answer questions with a form (counts, comparisons, and, or): retrieve their plain parts and combine the ends in
Cypher.
"""
