"""Files of other libraries of trees."""
