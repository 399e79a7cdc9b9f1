"""Serve Lodestar over HTTP, as a web page and over MCP, to many clients at once."""
