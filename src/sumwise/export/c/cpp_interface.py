"""What users of exported C++ see: a row with a member per feature, and functions to predict it."""

from collections.abc import Iterator

from sumwise.export.c.interface import (
    KEYWORDS,
    check_name,
    describe_input,
    describe_outputs,
    find_label_type,
    find_value_type,
    search_categories,
    search_largest,
    show_category,
)
from sumwise.export.c.steps import write_body
from sumwise.export.c.text import TEXT, write_function, write_local_table
from sumwise.export.portable import CATEGORY, PortableModel, refuse_large_labels
from sumwise.export.program import make_identifiers, plan_program

_INCLUDES = ["array", "cstddef", "cstdint", "limits", "string"]
_RESULT_TYPES = {TEXT: "std::string ", "int ": "bool ", "double ": "double "}


class CppInterface:
    """A model as C++.

    Parameters
    ----------
    model : PortableModel
    name : str
        The namespace.
    """

    def __init__(self, model: PortableModel, name: str) -> None:
        check_name(name)
        refuse_large_labels(model, "C++ (int64_t)")
        self._model, self._name = model, name
        names = [own.name for own in model.inputs]
        self._features = make_identifiers(names, KEYWORDS | {"Row", "code", "fill", "missing"})
        self._categorical = [k for k, own in enumerate(model.inputs) if own.kind == CATEGORY]

    def declare(self) -> str:
        """Return the header."""
        model = self._model
        guard = f"{self._name.upper()}_HPP"
        return "\n".join(
            [
                *self._explain(),
                f"#ifndef {guard}",
                f"#define {guard}",
                "",
                *(f"#include <{name}>" for name in _INCLUDES),
                "",
                f"namespace {self._name} {{",
                "",
                f"constexpr std::size_t n_inputs = {len(model.inputs)};",
                f"constexpr std::size_t n_outputs = {model.n_outputs};",
                "constexpr double missing = std::numeric_limits<double>::quiet_NaN();",
                "",
                *self._declare_categories(),
                *self._declare_row(),
                *self._declare_functions(),
                f"}} // namespace {self._name}",
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
        includes = "".join(f"#include <{name}.h>\n" for name in ("math", "stdint", "string"))
        parts = [
            self.declare(),
            includes,
            f"namespace {self._name} {{\nnamespace {{\n",
            body,
            "} // namespace\n",
            *encoders,
            *self._define_functions(),
            f"}} // namespace {self._name}\n",
        ]
        return "\n".join(parts)

    def _explain(self) -> list[str]:
        row = f"{self._name}::Row row; // all features are missing"
        chosen = sorted({*self._categorical[:1], *self._find_number()})
        usage = [
            f"row.{self._features[k]} = "
            f"{show_category(self._model.inputs[k]) if k in self._categorical else 1.5};"
            for k in chosen
        ]
        text = [
            f"{self._model.estimator}, written by sumwise.",
            "",
            *(f"    {line}" for line in [row, *usage, f"auto y = {self._name}::predict(row);"]),
            "",
            "Functions have no state, so threads may share them. Do not compile with -ffast-math:",
            "it ignores NaN, which marks missing values.",
        ]
        return [f"// {line}".rstrip() for line in text]

    def _find_number(self) -> list[int]:
        return [k for k, own in enumerate(self._model.inputs) if own.kind != CATEGORY][:1]

    # --- a row ---

    def _head_encoder(self, k: int) -> str:
        kind = _qualify(find_value_type(self._model.inputs[k]))
        return f"double encode_{self._features[k]}({kind}value)"

    def _declare_categories(self) -> Iterator[str]:
        """Yield a function that encodes each categorical feature, and a type for its member."""
        if not self._categorical:
            return
        yield "// The codes of categories: missing is NaN, unknown -1."
        yield from (f"{self._head_encoder(k)};" for k in self._categorical)
        yield "\n// Types that hold the code of the category they are made from."
        yield "namespace categories {\n"
        for k in self._categorical:
            feature, kind = self._features[k], _qualify(find_value_type(self._model.inputs[k]))
            code = f"code(encode_{feature}"
            yield f"struct {feature} {{\n    double code;\n    {feature}() : code(missing) {{}}"
            yield f"    {feature}({kind}value) : {code}(value)) {{}}"
            if kind == TEXT:
                yield f"    {feature}(const std::string &value) : {code}(value.c_str())) {{}}"
            yield "};\n"
        yield "} // namespace categories\n"

    def _declare_row(self) -> list[str]:
        members, codes = [], []
        for k, (feature, own) in enumerate(zip(self._features, self._model.inputs, strict=True)):
            is_category = own.kind == CATEGORY
            declaration = f"categories::{feature} {feature}" if is_category else f"double {feature}"
            start = "" if is_category else " = missing"
            members.append(f"    {declaration}{start}; // {describe_input(own)}")
            codes.append(f"        x[{k}] = this->{feature}{'.code' if is_category else ''};")
        return [
            "// The features of one row.",
            "struct Row {",
            *members,
            "",
            "    // Write the numbers that predict(x, out) reads.",
            "    void fill(double *x) const {",
            *codes,
            "    }",
            "};",
            "",
        ]

    # --- predictions ---

    def _declare_functions(self) -> Iterator[str]:
        model = self._model
        yield f"// Predict the n_inputs numbers of x: {describe_outputs(model)}."
        yield "void predict(const double *x, double *out);"
        yield ""
        for comment, head, _ in self._list_functions():
            yield f"// {comment}"
            yield f"{head};"
            yield ""

    def _define_functions(self) -> Iterator[str]:
        head = "void predict(const double *x, double *out)"
        yield write_function(head, [f"{self._name}_compute(x, out);"])
        for _, head, lines in self._list_functions():
            yield write_function(head, lines)

    def _list_functions(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the functions that predict a row: comment, head and body."""
        model = self._model
        outputs = "std::array<double, n_outputs>"
        compute = ["double x[n_inputs];", f"{outputs} out;", "row.fill(x);"]
        compute.append("predict(x, out.data());")
        if not model.is_classifier:
            kind, result = ("double", "out[0]") if model.n_outputs == 1 else (outputs, "out")
            yield (
                "Predict a row.",
                f"{kind} predict(const Row &row)",
                [*compute, f"return {result};"],
            )
            return
        yield (
            "The probabilities of the classes.",
            f"{outputs} predict_proba(const Row &row)",
            [*compute, "return out;"],
        )
        first, several = 0, len(model.classes) > 1
        for target, labels in enumerate(model.classes):
            end, of = (f"_{target}", f" of target {target}") if several else ("", "")
            kind = find_label_type(labels)
            result = _RESULT_TYPES.get(kind, _qualify(kind))
            is_true = " != 0" if result == "bool " else ""
            yield (
                f"The index of the most probable class{of}, from the output of predict(x, out).",
                f"std::size_t find_class{end}(const double *out)",
                search_largest(first, labels.size, "std::size_t"),
            )
            yield (
                f"The label of the most probable class{of}.",
                f"{result}predict{end}(const Row &row)",
                [
                    *write_local_table("label", labels.tolist(), kind),
                    f"return label[find_class{end}(predict_proba(row).data())]{is_true};",
                ],
            )
            first += labels.size


def _qualify(kind: str) -> str:
    """Return a type of C as C++ names it."""
    return f"std::{kind}" if kind in ("int64_t ", "uint64_t ") else kind
