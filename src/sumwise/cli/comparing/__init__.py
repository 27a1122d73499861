"""The parts of `sumwise compare`: data, contenders, cross-validation, what is shown of them."""
