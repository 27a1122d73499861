"""Examples of combining, in reduced size."""

from examples import bayes_against_stacking, simple_against_weighted


def test_weighting_pays_where_members_differ_much(capsys):
    table = simple_against_weighted.main(n_rows=40, n_repeats=30)
    alike, unlike = table["alike"], table["unlike"]
    assert alike["simple"] < alike["least squares"]
    assert alike["simple"] < 1.05 * alike["inverse error"]
    assert unlike["least squares"] < 0.5 * unlike["simple"]
    assert unlike["inverse error"] < 0.5 * unlike["simple"]
    assert "unlike" in capsys.readouterr().out


def test_bayesian_averaging_is_good_where_the_true_model_is_there(capsys):
    table = bayes_against_stacking.main(n_rows=60, n_repeats=3)
    known, missing = table["true model among them"], table["true model missing"]
    assert known["Bayesian averaging"] < 1.1 * known["stacking"]
    assert missing["Bayesian averaging"] > 1.5 * missing["stacking"]
    assert "stacking" in capsys.readouterr().out
