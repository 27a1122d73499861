"""A reader of exported JSON that uses nothing but docs/model_schema.md and the standard library."""

import json
import math


def predict_document(text, row):
    """Return the outputs of a row, a list of values; None or NaN is missing."""
    document = json.loads(text)
    outputs = []
    for node in document["nodes"]:
        outputs.append(_evaluate(node, outputs, document, row))
    return outputs[document["output"]]


def _evaluate(node, outputs, document, row):
    kind = node["type"]
    if kind == "trees":
        return _add_trees(node, outputs, document, row)
    if kind == "affine":
        terms = [x for k in node["of"] for x in outputs[k]]
        direct = [
            _read_column(column, outputs, document, row) for column in node.get("columns", [])
        ]
        direct = [0.0 if math.isnan(x) else x for x in direct]
        slopes = node.get("column_coefficient", [[]] * len(node["intercept"]))
        rows = zip(node["intercept"], node["coefficient"], slopes, strict=True)
        return [a + _dot(b, terms) + _dot(c, direct) for a, b, c in rows]
    if kind == "vote":
        votes = [0.0] * len(outputs[node["of"][0]])
        for k, weight in zip(node["of"], node["weights"], strict=True):
            votes[outputs[k].index(max(outputs[k]))] += weight
        return votes
    if kind == "median":
        trees = document["nodes"][node["of"]]
        return [_find_median(trees, node["weights"], outputs, document, row)]
    scores = outputs[node["of"]]
    if kind == "link":
        return _apply_link(node["name"], scores)
    if kind == "share":
        positive = [max(x, 0.0) for x in scores]
        total = sum(positive)
        return [x / total if total > 0 else 1 / len(positive) for x in positive]
    return [_interpolate(*curve) for curve in zip(scores, node["x"], node["y"], strict=True)]


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def _read_column(column, outputs, document, row):
    if "node" in column:
        return outputs[column["node"]][column["output"]]
    if "lookup" not in column:
        (k,) = column["inputs"]
        known = document["inputs"][k]
        if known["kind"] != "category":
            return math.nan if row[k] is None else row[k]
        code = _find_code(known, row[k])
        return math.nan if code in (None, len(known["categories"])) else code
    codes = [_find_code(document["inputs"][k], row[k]) for k in column["inputs"]]
    lookup = column["lookup"]
    if codes in lookup["codes"]:
        return lookup["values"][lookup["codes"].index(codes)]
    return lookup["default"]


def _find_code(known, value):
    """Return the code of a value; None if it is unknown."""
    if value is None or value != value:
        return len(known["categories"])
    return known["categories"].index(value) if value in known["categories"] else None


def _add_trees(node, outputs, document, row):
    columns = [_read_column(column, outputs, document, row) for column in node["columns"]]
    sums = [0.0] * len(node["base_score"])
    for i, tree in enumerate(node["trees"]):
        values = _find_values(tree, columns)
        first = i % (len(sums) // len(values)) * len(values)
        for k, value in enumerate(values):
            sums[first + k] += value
    return [a / node["divisor"] + b for a, b in zip(sums, node["base_score"], strict=True)]


def _find_values(tree, columns):
    node = 0
    while tree["left"][node] >= 0:
        x = columns[tree["column"][node]]
        categories = tree["categories"][node] if "categories" in tree else None
        if math.isnan(x):
            goes_left = tree["missing_left"][node]
        elif categories is not None:
            goes_left = x in categories
        else:
            goes_left = x <= float(tree["threshold"][node])
        node = tree["left"][node] + (0 if goes_left else 1)
    model = tree["linear"][node] if "linear" in tree else None
    if model is not None:
        total = model["constant"]
        for k, slope in zip(model["columns"], model["coefficients"], strict=True):
            total += slope * columns[k]
        if math.isfinite(total):
            return [min(max(total, float(model["low"])), float(model["high"]))]
    return tree["value"][node]


def _find_median(node, weights, outputs, document, row):
    columns = [_read_column(column, outputs, document, row) for column in node["columns"]]
    values = [_find_values(tree, columns)[0] for tree in node["trees"]]
    so_far = 0.0
    for value, weight in sorted(zip(values, weights, strict=True), key=lambda pair: pair[0]):
        so_far += weight
        if so_far >= sum(weights) / 2:
            return value
    return value


def _apply_link(name, scores):
    if name in ("logistic", "half_logistic"):
        f = scores[0] * (2 if name == "half_logistic" else 1)
        return [_sigmoid(-f), _sigmoid(f)]
    if name == "softmax":
        shares = [math.exp(f - max(scores)) for f in scores]
        return [share / sum(shares) for share in shares]
    if name == "sorted":
        return sorted(scores)
    functions = {
        "identity": float,
        "log": math.exp,
        "log1p": math.expm1,
        "sigmoid": _sigmoid,
    }
    return [functions[name](f) for f in scores]


def _sigmoid(f):
    return 1 / (1 + math.exp(-f)) if f > 0 else math.exp(f) / (1 + math.exp(f))


def _interpolate(score, x, y):
    if score <= x[0]:
        return y[0]
    for a, b, c, d in zip(x, x[1:], y, y[1:], strict=False):
        if score <= b:
            return c + (d - c) * (score - a) / (b - a)
    return y[-1]
