"""The members that a user gives to an ensemble: their names, parameters and checks."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Self

from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from sumwise.data.frames.reading import collect_lazy, read_list
from sumwise.data.on_device import explain_place, is_on_device
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.persistence import NotSavedMixin
from sumwise.estimators.serving.mixin import CompilesMixin

_DROPPED = "drop"

MEMBER_PARAMETERS = """estimators : list of (str, estimator) pairs, or of estimators
    The members. Clones of them are fitted; members set to "drop" are left out. Members without
    names are named after their class, in lower case."""


def read_members_rows(X: Any) -> Any:
    """Return X as members are given it: a list of rows becomes an array, a lazy frame is collected.

    A list of anything else, such as texts, is left for the members to read.
    """
    if is_on_device(X):
        raise DataError(
            f"{explain_place(X)}; an ensemble of other estimators reads the memory of the host. "
            "Its members can train on a GPU all the same, with device='cuda'"
        )
    X = collect_lazy(X)
    if not isinstance(X, (list, tuple)):
        return X
    array = read_list(X)
    return array if getattr(array, "ndim", 1) > 1 else X


def _is_dropped(member: Any) -> bool:
    return isinstance(member, str) and member == _DROPPED


class MemberList(NotSavedMixin, CompilesMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of ensembles whose members the user gives, of any kind, as ``estimators``."""

    estimators: Any

    def _name_members(self) -> list[tuple[str, Any]]:
        """Pairs of name and member, named by the user or by their class; refuse others."""
        items = self.estimators
        if not isinstance(items, (list, tuple)) or len(items) == 0:
            raise ParameterError(
                f"{type(self).__name__}: estimators must be a non-empty list of estimators or of "
                "(name, estimator) pairs"
            )
        if all(isinstance(i, (list, tuple)) and len(i) == 2 for i in items):
            return [(name, member) for name, member in items]
        names = [type(item).__name__.lower() for item in items]
        counts, seen = Counter(names), Counter[str]()
        for place, name in enumerate(names):
            if counts[name] > 1:
                seen[name] += 1
                names[place] = f"{name}-{seen[name]}"
        return list(zip(names, items, strict=True))

    @property
    def named_estimators(self) -> Bunch:
        """The members as they were given, by name."""
        return Bunch(**dict(self._name_members()))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; with ``deep`` also the members and their parameters."""
        params = super().get_params(deep=False)
        if not deep:
            return params
        try:
            named = self._name_members()
        except ParameterError:
            named = []
        inner = [(name, value) for name, value in params.items() if name != "estimators"]
        for name, value in [*inner, *named]:
            params[name] = value
            if hasattr(value, "get_params") and not isinstance(value, type):
                params.update({f"{name}__{k}": v for k, v in value.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members by name, and their parameters as ``name__parameter=...``."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        try:
            names = [name for name, _ in self._name_members()]
        except ParameterError:
            names = []
        own = super().get_params(deep=False)
        for place, name in enumerate(names):
            if name in params and name not in own:
                items = list(self.estimators)
                is_pair = isinstance(items[place], (list, tuple))
                member = params.pop(name)
                items[place] = (name, member) if is_pair else member
                self.estimators = items
        super().set_params(**params)
        return self

    def _is_member(self, estimator: Any) -> bool:
        """Whether an estimator is of the kind that members must be."""
        return self._is_own_kind()(estimator)

    def _is_own_kind(self) -> Callable[[Any], bool]:
        return is_classifier if is_classifier(self) else is_regressor

    def _check_members(self) -> list[tuple[str, Any]]:
        """Return names and members, without dropped ones; refuse what cannot be a member."""
        pairs = self._name_members()
        own = type(self).__name__
        names = [name for name, _ in pairs]
        if not all(isinstance(name, str) for name in names):
            raise ParameterError(f"{own}: names of estimators must be strings, not {names}")
        if len(set(names)) < len(names):
            raise ParameterError(f"{own}: Names provided are not unique: {names}")
        taken = sorted(set(names) & set(super().get_params(deep=False)))
        if taken:
            raise ParameterError(
                f"{own}: Estimator names conflict with constructor arguments: {taken}"
            )
        nested = [name for name in names if "__" in name]
        if nested:
            raise ParameterError(f"{own}: Estimator names must not contain __: got {nested}")
        kept = self._list_kept()
        if not kept:
            raise ParameterError(
                f"{own}: All estimators are dropped. At least one is required to be an estimator."
            )
        for name, member in kept:
            if isinstance(member, str):
                raise ParameterError(f"{own}: {member!r} is not an estimator; 'drop' leaves it out")
            if (
                isinstance(member, type)
                or not hasattr(member, "fit")
                or not self._is_member(member)
            ):
                shown = member.__name__ if isinstance(member, type) else type(member).__name__
                instance = " instance" if isinstance(member, type) else ""
                raise ParameterError(
                    f"{own}: The estimator {shown} ({name!r}) should be a "
                    f"{self._is_own_kind().__name__[3:]}{instance}."
                )
        return kept

    def _list_kept(self) -> list[tuple[str, Any]]:
        """Names and members without dropped ones, unchecked."""
        return [(name, member) for name, member in self._name_members() if not _is_dropped(member)]

    def _name_fitted(self, names: Sequence[str], fitted: Sequence[Any]) -> Bunch:
        """Return fitted members by name; "drop" for members that the user named and dropped."""
        known = dict(zip(names, fitted, strict=True))
        has_names = isinstance(self.estimators[0], (list, tuple))
        named = Bunch()
        for name, member in self._name_members():
            if name in known:
                named[name] = known[name]
            elif has_names and _is_dropped(member):
                named[name] = _DROPPED
        return named

    def _list_readers(self) -> list[Any]:
        """The estimators that are given the columns of X."""
        return [member for _, member in self._list_kept()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inputs = [get_tags(each).input_tags for each in self._list_readers()]
        except Exception:  # fit refuses what is not a list of members
            return tags
        for name in ("allow_nan", "sparse", "string", "categorical"):
            setattr(tags.input_tags, name, all(getattr(each, name) for each in inputs))
        return tags

    def _route_to_members(self, router: MetadataRouter) -> MetadataRouter:
        """Let ``fit`` pass metadata on to ``fit`` of the members."""
        for name, member in self._check_members():
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: self._wrap(member)}, method_mapping=mapping)
        return router

    def _wrap(self, member: Any) -> Any:
        """Return what is fitted for a member; subclasses may wrap it."""
        return member
