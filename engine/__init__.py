"""The library: values, stages, the database gateway, recipes, adapters and the command line."""
