"""What users of exported C see: the header, encoders of categories, labels of classes."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from sumwise.errors import ExportError, ParameterError
from sumwise.export.c.steps import write_body
from sumwise.export.c.text import TEXT, write_comment, write_function, write_local_table
from sumwise.export.portable import CATEGORY, Input, PortableModel, refuse_large_labels
from sumwise.export.program import make_identifiers, plan_program

# Integers up to this are exact in double precision.
_EXACT = 1 << 53
_MOST_SHOWN = 5
_UNITS = {"date": ", seconds since 1970-01-01 UTC", "duration": ", seconds"}
# Words that are not allowed as names, or would surprise as such.
_KEYWORDS = (
    "alignas alignof and asm auto bool break case catch char class const constexpr continue "
    "decltype default delete do double else enum explicit export extern false float for friend "
    "goto if inline int long main mutable namespace new noexcept not nullptr operator or private "
    "protected public register restrict return short signed sizeof static std struct switch "
    "template this throw true try typedef typeid typename union unsigned using virtual void "
    "volatile while xor"
)
# Macros of common compilers and of the headers that exported C++ includes.
_MACROS = (
    "BIG_ENDIAN BUFSIZ BYTE_ORDER DOMAIN EDOM EIO EOF EPERM ERANGE ETIME HUGE_VAL INFINITY "
    "LITTLE_ENDIAN MAXFLOAT M_E M_PI NAN NULL OVERFLOW RAND_MAX SIZE_MAX UNDERFLOW WEOF errno "
    "linux stderr stdin stdout unix"
)
KEYWORDS = frozenset(f"{_KEYWORDS} {_MACROS}".split())


class CInterface:
    """A model as C.

    Parameters
    ----------
    model : PortableModel
    name : str
        Begins all names.
    """

    def __init__(self, model: PortableModel, name: str) -> None:
        check_name(name)
        refuse_large_labels(model, "C (int64_t)")
        self._model, self._name, self._upper = model, name, name.upper()
        self._features = make_identifiers([own.name for own in model.inputs])
        reserved = frozenset({"N_INPUTS", "N_OUTPUTS", "H", "NODE", "N_PLAIN", "STEP"})
        upper = [own.name.upper() for own in model.inputs]
        self._indices = [f"{self._upper}_{own}" for own in make_identifiers(upper, reserved)]
        self._categorical = [k for k, own in enumerate(model.inputs) if own.kind == CATEGORY]

    def declare(self) -> str:
        """Return the header."""
        model, name, upper = self._model, self._name, self._upper
        inputs = zip(self._indices, model.inputs, strict=True)
        labels = [line for comment, head in self._list_labels() for line in (comment, f"{head};")]
        return "\n".join(
            [
                *self._explain(),
                f"#ifndef {upper}_H",
                f"#define {upper}_H",
                "",
                "#include <stdint.h>",
                "",
                "#ifdef __cplusplus",
                'extern "C" {',
                "#endif",
                "",
                f"#define {upper}_N_INPUTS {len(model.inputs)}",
                f"#define {upper}_N_OUTPUTS {model.n_outputs}",
                "",
                "/* The index of each feature in x. */",
                *(f"#define {i} {k} /* {describe_input(x)} */" for k, (i, x) in enumerate(inputs)),
                "",
                *self._declare_encoders(),
                f"/* Predict one row: {describe_outputs(model)}. */",
                f"void {name}_predict(const double *x, double *out);",
                "",
                *([*labels, ""] if labels else []),
                "#ifdef __cplusplus",
                "}",
                "#endif",
                "",
                "#endif",
                "",
            ]
        )

    def define(self) -> str:
        """Return the source, which begins with the header."""
        encoders = [
            write_function(self._head_encoder(k), search_categories(self._model.inputs[k]))
            for k in self._categorical
        ]
        body = write_body(plan_program(self._model), f"{self._name}_")
        head = f"void {self._name}_predict(const double *x, double *out)"
        predict = write_function(head, [f"{self._name}_compute(x, out);"])
        includes = "#include <math.h>\n#include <string.h>\n"
        parts = [self.declare(), includes, body, *encoders, predict, *self._define_labels()]
        return "\n".join(parts)

    def _explain(self) -> list[str]:
        """Return the comment at the top: how to predict a row."""
        name, upper = self._name, self._upper
        usage = [f"double x[{upper}_N_INPUTS], out[{upper}_N_OUTPUTS];"]
        for k in sorted({*self._categorical[:1], *self._find_number()}):
            value = f"{name}_encode_{self._features[k]}({show_category(self._model.inputs[k])})"
            usage.append(f"x[{self._indices[k]}] = {value if k in self._categorical else 1.5};")
        usage.append(f"{name}_predict(x, out);")
        text = [
            f"{self._model.estimator}, written by sumwise.",
            "",
            *(f"    {line}" for line in usage),
            "",
            "Set all entries of x. A missing value is NAN. Functions have no state and allocate",
            "nothing, so threads may share them. Do not compile with -ffast-math: it ignores NAN.",
        ]
        return ["/*", *(f" * {line}".rstrip() for line in text), " */"]

    def _find_number(self) -> list[int]:
        """Return the first feature that is a number, if there is one."""
        return [k for k, own in enumerate(self._model.inputs) if own.kind != CATEGORY][:1]

    def _head_encoder(self, k: int) -> str:
        kind = find_value_type(self._model.inputs[k])
        return f"double {self._name}_encode_{self._features[k]}({kind}value)"

    def _declare_encoders(self) -> Iterator[str]:
        if self._categorical:
            yield "/* What x holds for a category. A value of NULL or NAN is missing. */"
            yield from (f"{self._head_encoder(k)};" for k in self._categorical)
            yield ""

    def _list_labels(self) -> Iterator[tuple[str, str]]:
        """Yield the functions that find classes and labels: a comment and the head of each."""
        several = len(self._model.classes) > 1
        for target, labels in enumerate(self._model.classes):
            end, of = (f"_{target}", f" of target {target}") if several else ("", "")
            of += ", from what predict has written"
            yield (
                f"/* The index of the most probable class{of}. */",
                f"int {self._name}_class{end}(const double *out)",
            )
            yield (
                f"/* The label of the most probable class{of}. */",
                f"{find_label_type(labels)}{self._name}_label{end}(const double *out)",
            )

    def _define_labels(self) -> Iterator[str]:
        heads = [head for _, head in self._list_labels()]
        first = 0
        for labels, find, show in zip(self._model.classes, heads[::2], heads[1::2], strict=True):
            yield write_function(find, search_largest(first, labels.size))
            table = write_local_table("label", labels.tolist(), find_label_type(labels))
            name = find.removeprefix("int ").partition("(")[0]
            yield write_function(show, [*table, f"return label[{name}(out)];"])
            first += labels.size


# --- shared with C++ ---


def check_name(name: str) -> None:
    """Refuse a name that is not an identifier."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) or name in KEYWORDS:
        raise ParameterError(f"name={name!r} is not an identifier of C and C++")


def describe_input(own: Input) -> str:
    """Return what a feature holds, for a comment."""
    if own.kind != CATEGORY:
        return f"{write_comment(own.name)}: a number{_UNITS.get(own.kind, '')}"
    return f"{write_comment(own.name)}: a category ({_show_some(own.categories)})"


def describe_outputs(model: PortableModel) -> str:
    """Return what the outputs are, for a comment."""
    if not model.is_classifier:
        return "one number" if model.n_outputs == 1 else "one number per target"
    shown = [_show_some(labels.tolist()) for labels in model.classes]
    return f"the probabilities of the classes ({'; '.join(shown)})"


def show_category(own: Input) -> str:
    """Return a category of a feature as an example, for a comment."""
    value = own.categories[0] if own.categories else ""
    return f'"{write_comment(value)[1:-1]}"' if isinstance(value, str) else str(value)


def _show_some(values: Sequence[object]) -> str:
    shown = [write_comment(v) if isinstance(v, str) else str(v) for v in values[:_MOST_SHOWN]]
    return ", ".join([*shown, "..."] if len(values) > _MOST_SHOWN else shown)


def find_value_type(own: Input) -> str:
    """Return the type of the values of a categorical feature."""
    if not own.categories or isinstance(own.categories[0], str):
        return TEXT
    first, last = own.categories[0], own.categories[-1]
    if isinstance(first, int) and max(-first, last) > _EXACT:
        return "uint64_t " if last >= 1 << 63 else "int64_t "
    return "double "


def find_label_type(labels: np.ndarray) -> str:
    """Return the type of the labels of classes."""
    values = labels.tolist()
    for kind, name in ((str, TEXT), (bool, "int "), (float, "double ")):
        if all(isinstance(value, kind) for value in values):
            return name
    if all(isinstance(value, int) for value in values):
        return "uint64_t " if max(values) >= 1 << 63 else "int64_t "
    raise ExportError("labels of several types cannot be written as C; use strings")


def search_categories(own: Input) -> list[str]:
    """Return the body of the function that turns the value of a category into its code."""
    kind, n = find_value_type(own), len(own.categories)
    missing = {TEXT: "!value", "double ": "value != value"}.get(kind)
    refuse = [f"if ({missing})", "    return NAN;"] if missing else []
    if n == 0:
        return [*refuse, "return -1.0;"]
    less, equal = "known[middle] < value", "known[low] == value"
    if kind == TEXT:
        less, equal = "strcmp(known[middle], value) < 0", "strcmp(known[low], value) == 0"
    return [
        *write_local_table("known", own.categories, kind),
        f"int low = 0, high = {n};",
        *refuse,
        "while (low < high) {",
        "    int middle = low + (high - low) / 2;",
        f"    if ({less})",
        "        low = middle + 1;",
        "    else",
        "        high = middle;",
        "}",
        f"return low < {n} && {equal} ? low : -1.0;",
    ]


def search_largest(first: int, n_classes: int, index: str = "int") -> list[str]:
    """Return the body of the function that finds the largest of some outputs."""
    return [
        f"{index} best = 0, k;",
        *([f"out += {first};"] if first else []),
        f"for (k = 1; k < {n_classes}; k++)",
        "    best = out[k] > out[best] ? k : best;",
        "return best;",
    ]
