"""GeoNames' countries and cities."""
