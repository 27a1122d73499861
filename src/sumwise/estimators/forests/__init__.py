"""Decision trees, random forests and extremely randomized trees."""
