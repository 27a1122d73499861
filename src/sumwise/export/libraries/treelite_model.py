"""Models as treelite models: a compact form that predicts fast, and that FIL and TL2cgen read."""

from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.libraries.trees import LibraryModel, to_library_model

# Names of treelite's postprocessors, by link, for one output and for several.
_POSTPROCESSORS = {
    "identity": "identity",
    "log": "exponential",
    "sigmoid": "sigmoid",
    "logistic": "sigmoid",
    "half_logistic": "sigmoid",
}
_POSTPROCESSORS_OF_MANY = {
    "identity": "identity",
    "log": "exponential",
    "sigmoid": "sigmoid",
    "softmax": "softmax",
}


def to_treelite(model: Any) -> Any:
    """Return a fitted model as a ``treelite.Model``.

    It has the thresholds and leaves in double precision. ``treelite.gtil.predict`` computes the
    predictions: numbers, the probability of the second of two classes, or the probabilities of more
    classes. Categories are passed to it as their indices among the sorted categories of the
    training rows, unknown ones as missing. Softmax is computed by treelite in single precision.
    Needs treelite: ``pip install "sumwise[treelite]"``.

    Parameters
    ----------
    model : estimator or PortableModel
        A fitted model of trees of sumwise.

    Returns
    -------
    treelite.Model

    Examples
    --------
    >>> import numpy as np
    >>> import treelite
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import RandomForestClassifier
    >>> from sumwise.export import to_treelite
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> found = treelite.gtil.predict(to_treelite(forest), X)
    >>> bool(np.allclose(found[:, 0], forest.predict_proba(X)))
    True
    """
    try:
        from treelite import model_builder
    except ImportError as error:
        raise ImportError('to_treelite needs treelite: pip install "sumwise[treelite]"') from error
    return _Builder(to_library_model(model), model_builder).build()


class _Builder:
    """Builds a treelite model."""

    def __init__(self, model: LibraryModel, library: Any) -> None:
        self._model, self._library = model, library
        self._sets = model.trees.trees.left_categories
        self._n_categories = [len(known.categories) for known in model.inputs]
        if model.trees.trees.models is not None:
            raise ExportError("linear leaves: treelite's leaves are constant")

    def build(self) -> Any:
        trees = self._model.trees
        builder = self._open()
        for number, (first, last) in enumerate(zip(trees.start[:-1], trees.start[1:], strict=True)):
            builder.start_tree()
            for node in range(int(first), int(last)):
                builder.start_node(node - int(first))
                self._add_node(builder, number, node, int(first))
                builder.end_node()
            builder.end_tree()
        if trees.n_trees == 0:  # treelite wants a tree
            builder.start_tree()
            builder.start_node(0)
            builder.leaf(self._shape_leaf(range(0), np.zeros(0)))
            builder.end_node()
            builder.end_tree()
        return builder.commit()

    def _open(self) -> Any:
        """Return treelite's builder, with all that concerns the whole model."""
        model, library = self._model, self._library
        n_outputs, is_multi = model.n_outputs, model.n_classes > 2
        n_targets, n_classes = (1, n_outputs) if is_multi else (n_outputs, 1)
        known = _POSTPROCESSORS if n_outputs == 1 else _POSTPROCESSORS_OF_MANY
        if model.link not in known:
            raise ExportError(f"the link {model.link!r} is not one of treelite's postprocessors")
        task = "kMultiClf" if is_multi else "kBinaryClf" if model.n_classes == 2 else "kRegressor"
        n_trees = max(1, model.trees.n_trees)
        spans = n_outputs > 1
        shape = (n_targets, n_classes) if spans else (1, 1)
        alpha = {"sigmoid_alpha": 2.0} if model.link == "half_logistic" else {}
        # "sigmoid" applies to one number per target, not to each class.
        is_ova = is_multi and model.link == "sigmoid"
        name = "multiclass_ova" if is_ova else known[model.link]
        postprocessor = library.PostProcessorFunc(name=name, **alpha)
        return library.ModelBuilder(
            threshold_type="float64",
            leaf_output_type="float64",
            metadata=library.Metadata(
                num_feature=len(model.inputs),
                task_type=task,
                average_tree_output=model.averages,
                num_target=n_targets,
                num_class=[n_classes] * n_targets,
                leaf_vector_shape=shape,
            ),
            tree_annotation=library.TreeAnnotation(
                num_tree=n_trees,
                target_id=[-1 if spans and not is_multi else 0] * n_trees,
                class_id=[-1 if spans and is_multi else 0] * n_trees,
            ),
            postprocessor=postprocessor,
            base_scores=model.trees.base_score.tolist(),
        )

    def _add_node(self, builder: Any, number: int, node: int, first: int) -> None:
        trees = self._model.trees.trees
        if trees.n_rows[node] > 0:
            builder.data_count(int(trees.n_rows[node]))
            builder.sum_hess(float(trees.weight[node]))
        if trees.left[node] < 0:
            outputs = self._model.trees.find_outputs(number)
            builder.leaf(self._shape_leaf(outputs, trees.value[node]))
            return
        builder.gain(float(trees.gain[node]))
        left = int(trees.left[node]) - first
        children = {"left_child_key": left, "right_child_key": left + 1}
        feature, to_left = int(trees.feature[node]), bool(trees.missing_left[node])
        if node not in self._sets:
            builder.numerical_test(
                feature, float(trees.threshold[node]), default_left=to_left, opname="<=", **children
            )
            return
        # Unknown categories are in no list: the list is that of the side where they do not go.
        codes = self._sets[node]
        if to_left:
            codes = np.setdiff1d(np.arange(self._n_categories[feature]), codes)
        builder.categorical_test(
            feature,
            default_left=to_left,
            category_list=codes.tolist(),
            category_list_right_child=to_left,
            **children,
        )

    def _shape_leaf(self, outputs: range, values: np.ndarray) -> Any:
        """Return the value of a leaf for all outputs: 0 for those that it does not add to."""
        if self._model.n_outputs == 1:
            return float(values[0]) if values.size else 0.0
        full = np.zeros(self._model.n_outputs)
        full[outputs.start : outputs.stop] = values
        return full.tolist()
