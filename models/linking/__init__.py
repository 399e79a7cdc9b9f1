"""The trained linker: how likely a question is about a candidate, by what is known of both."""
