from sumwise.cli.usage import list_names, suggest


def test_long_lists_are_cut():
    assert list_names("abc", 2) == "a, b and 1 more"
    assert list_names("abc", 3) == "a, b, c"


def test_similar_names_are_suggested_whatever_their_case():
    assert suggest("Rennt", ["rent", "city"]) == "; did you mean 'rent'?"
    assert suggest("age", ["rent"]) == ""
