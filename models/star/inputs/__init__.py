"""What networks read: mined questions as examples, paths by number, texts as token ids, batches."""
