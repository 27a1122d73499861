"""The slow, obvious twin of the tree engine.

Every compiled kernel is judged against these modules. They use int64 and
float64 in the order that the numeric contract writes down, so integer results and
split decisions should agree bit for bit. NumPy runs along the candidates of a
feature; nothing is kept from one node to the next.
"""
