"""Networks and pure scoring formulas; nothing here knows a database."""
