"""Candidate pools of questions, and the supervision that is chosen from them (ReG, section 4.1)."""
