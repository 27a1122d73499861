"""The slow, obvious twin of the tree engine.

Every compiled kernel is judged against these modules. They use Python integers,
float64 and plain loops, in the order that the numeric contract writes down, so
integer results and split decisions should agree bit for bit.
"""
