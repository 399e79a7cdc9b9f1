"""What a trained scorer attended to in a question and its paths: as values, as a picture, as a page."""
