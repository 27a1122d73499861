from sumwise.cli.tables import format_table


def test_table_is_aligned():
    assert format_table(("method", "R²"), [("a", "0.5000"), ("longer name", "-1.0")]) == (
        "| method      |     R² |\n"
        "| ----------- | -----: |\n"
        "| a           | 0.5000 |\n"
        "| longer name |   -1.0 |"
    )
