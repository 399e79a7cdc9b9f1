"""Lodestar as a server: HTTP, a page, MCP, many askers at once."""
