"""Answerers: from ranked paths to answers, extractive or by a language model."""
