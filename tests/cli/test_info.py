from sumwise.cli.main import main
from sumwise.estimators.versions import describe_versions


def test_info_prints_versions(capsys):
    assert main(["info"]) == 0
    assert capsys.readouterr().out == describe_versions() + "\n"
