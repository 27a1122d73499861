import json

from sumwise.cli.main import main
from sumwise.estimators.versions import describe_versions


def test_info_prints_versions(capsys):
    assert main(["info"]) == 0
    assert capsys.readouterr().out == describe_versions() + "\n"


def test_info_as_json(capsys):
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["versions"] == describe_versions().splitlines()
