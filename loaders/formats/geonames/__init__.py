"""The world as GeoNames has it, in tables that are shipped (benchmarks/shipped_tables.py makes them)."""
