"""Figures that can be trusted: questions with right answers, what was answered, and metrics over both."""
