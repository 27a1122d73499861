import re

from sumwise.estimators.combined.member_progress import describe_member, report_fit


def test_a_line_on_standard_error_once_it_is_done(capsys):
    with report_fit(describe_member(1, 5, "forest")):
        assert capsys.readouterr().err == ""
    shown = capsys.readouterr()
    assert re.fullmatch(r"fitting member 2 of 5: forest \.\.\. \d+\.\d s\n", shown.err)
    assert shown.out == ""


def test_nothing_is_said_unless_asked(capsys):
    with report_fit(None):
        pass
    assert capsys.readouterr() == ("", "")
