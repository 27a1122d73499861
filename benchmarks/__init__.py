"""Speed, memory and accuracy of sumwise beside its rivals."""
