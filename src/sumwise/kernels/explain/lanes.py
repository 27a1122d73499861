"""Steps of a walk for 32 rows side by side, in the language of LLVM.

They work on vectors of eight doubles, which the compiler splits into registers of the CPU's width.
A loop in Python would be vectorized, too; but before each, the machine code would check whether the
arrays overlap, which takes longer than so short a loop. The rows of a *mask* are bits of a word.

A row has the factor ``on`` if it is in the first mask, else ``off`` if it is in the second one,
else ``rest``.
"""

from collections.abc import Sequence
from typing import Any

from sumwise.kernels.runtime.jit import cgutils, intrinsic, ir, types

LANES = 32
_PART = 8
# Columns of a table of factors: ``on``, ``off``, what a change is multiplied by; and for pairs of
# features, the rate of rows that pass at the split to the left, and to the right.
ON, OFF, SCALE, PASS_LEFT, PASS_RIGHT = range(5)
N_FACTORS = 5


class _Lanes:
    """The arguments of an intrinsic, and vectors of doubles."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> None:
        self.context, self.builder = context, builder
        self.kinds, self.args = signature.args, args
        self.vector = ir.VectorType(ir.DoubleType(), _PART)
        self.zero = ir.Constant(self.vector, None)

    def point_to(self, argument: int, *indices: Any) -> Any:
        """Return a pointer to an item of an array."""
        kind = self.kinds[argument]
        array = self.context.make_array(kind)(self.context, self.builder, self.args[argument])
        places = [ir.IntType(64)(i) if isinstance(i, int) else i for i in indices]
        return cgutils.get_item_pointer(self.context, self.builder, kind, array, places)

    def place(self, row: Any, part: int) -> Any:
        """Return where a part of a row of lanes begins."""
        first = self.builder.mul(row, ir.IntType(64)(LANES))
        return self.builder.add(first, ir.IntType(64)(part * _PART))

    def load(self, pointer: Any, place: Any) -> Any:
        pointer = self.builder.gep(pointer, [place])
        return self.builder.load(self.builder.bitcast(pointer, self.vector.as_pointer()), align=8)

    def store(self, value: Any, pointer: Any, place: Any) -> None:
        pointer = self.builder.gep(pointer, [place])
        pointer = self.builder.bitcast(pointer, self.vector.as_pointer())
        self.builder.store(value, pointer, align=8)

    def add_to(self, value: Any, pointer: Any, part: int) -> None:
        """Add to a part of a row of lanes in memory."""
        place = ir.IntType(64)(part * _PART)
        self.store(self.builder.fadd(self.load(pointer, place), value), pointer, place)

    def repeat(self, number: Any) -> Any:
        """Return a vector of equal numbers."""
        undefined = ir.Constant(self.vector, ir.Undefined)
        places = ir.Constant(ir.VectorType(ir.IntType(32), _PART), None)
        single = self.builder.insert_element(undefined, number, ir.IntType(64)(0))
        return self.builder.shuffle_vector(single, undefined, places)

    def read_factor(self, table: Any, point: Any, column: int) -> Any:
        first = self.builder.mul(point, ir.IntType(64)(N_FACTORS))
        place = self.builder.add(first, ir.IntType(64)(column))
        return self.builder.load(self.builder.gep(table, [place]))

    def read_mask(self, argument: int, part: int) -> Any:
        """Return the part of a mask as a vector of bits."""
        word = self.builder.lshr(self.args[argument], ir.IntType(64)(part * _PART))
        bits = self.builder.trunc(word, ir.IntType(_PART))
        return self.builder.bitcast(bits, ir.VectorType(ir.IntType(1), _PART))

    def choose(self, masks: Sequence[Any], on: Any, off: Any, rest: Any) -> Any:
        """Return the factors of rows; numbers, or a vector for ``rest``."""
        rest = rest if rest.type == self.vector else self.repeat(rest)
        others = self.builder.select(masks[1], self.repeat(off), rest)
        return self.builder.select(masks[0], self.repeat(on), others)


@intrinsic
def find_left(typing_context, codes, column, first, skip, bound):
    """Return the mask of the rows from ``first`` on with ``code - skip <= bound``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        of = _Lanes(context, builder, signature, args)
        vector = ir.VectorType(ir.IntType(8), LANES)
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)

        def repeat(byte: Any) -> Any:
            undefined = ir.Constant(vector, ir.Undefined)
            single = builder.insert_element(undefined, byte, ir.IntType(64)(0))
            return builder.shuffle_vector(single, undefined, places)

        pointer = builder.bitcast(of.point_to(0, args[1], args[2]), vector.as_pointer())
        code = builder.sub(builder.load(pointer, align=1), repeat(args[3]))
        goes_left = builder.icmp_unsigned("<=", code, repeat(args[4]))
        return builder.zext(builder.bitcast(goes_left, ir.IntType(LANES)), ir.IntType(64))

    integers = types.int64, types.int64, types.uint8, types.uint8
    return types.uint64(codes, *integers), generate


def _make_descend(to_left):
    @intrinsic
    def descend(typing_context, product, level, on_left, on_right, share, table, split, n_points):
        """Write the products of a child: those of the parent times the factors of a side.

        Equivalent to this, for the left side::

            for q in range(n_points):
                for i in range(LANES):
                    product[level + 1, q, i] = product[level, q, i] * left[q, i]
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            of = _Lanes(context, builder, signature, args)
            own = of.point_to(0, args[1], 0, 0)
            child = of.point_to(0, builder.add(args[1], ir.IntType(64)(1)), 0, 0)
            factors = of.point_to(5, args[6], 0, 0)
            one = ir.Constant(ir.DoubleType(), 1.0)

            def take_side(left: Any) -> Any:
                return left if to_left else builder.fsub(one, left)

            rest = of.repeat(take_side(args[4]))
            for part in range(LANES // _PART):
                masks = of.read_mask(2, part), of.read_mask(3, part)
                with cgutils.for_range(builder, args[7]) as loop:
                    place = of.place(loop.index, part)
                    on, off = (take_side(of.read_factor(factors, loop.index, k)) for k in (ON, OFF))
                    factor = of.choose(masks, on, off, rest)
                    of.store(builder.fmul(of.load(own, place), factor), child, place)
            return context.get_dummy_value()

        masks = types.uint64, types.uint64
        known = types.float64, table, types.int64, types.int64
        return types.none(product, types.int64, *masks, *known), generate

    return descend


def _make_close(left_is_leaf, right_is_leaf, keeps_terms):
    @intrinsic
    def close(
        typing_context,
        product,
        below,
        level,
        side,
        left_value,
        right_value,
        on_left,
        on_right,
        share,
        table,
        split,
        n_points,
        terms,
        sums,
        slot,
        first,
    ):
        """Write the sums below a split, and add to the values of its feature.

        ``below`` has those of left children, then those of right ones; a leaf has its value. Terms
        are kept for :func:`add_pair` only. Equivalent to this::

            for i in range(LANES):
                total = 0.0
                for q in range(n_points):
                    change = below[0, level + 1, q, i] - below[1, level + 1, q, i]
                    below[side, level, q, i] = below[1, level + 1, q, i] + left[q, i] * change
                    terms[q, i] = product[level, q, i] * table[split, q, SCALE] * change
                    total += terms[q, i]
                weight = 1 - share if on_left[i] else -share if on_right[i] else 0
                sums[slot, first + i] += weight * total
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            of = _Lanes(context, builder, signature, args)
            level, next_level = args[2], builder.add(args[2], ir.IntType(64)(1))
            own = of.point_to(0, level, 0, 0)
            from_left, from_right = (of.point_to(1, s, next_level, 0, 0) for s in (0, 1))
            out = of.point_to(1, args[3], level, 0, 0)
            factors = of.point_to(9, args[10], 0, 0)
            kept, total = of.point_to(12, 0, 0), of.point_to(13, args[14], args[15])
            values = of.repeat(args[4]), of.repeat(args[5])
            share = args[8]
            lost = builder.fsub(ir.Constant(ir.DoubleType(), 0.0), share)
            gained = builder.fsub(ir.Constant(ir.DoubleType(), 1.0), share)
            for part in range(LANES // _PART):
                masks = of.read_mask(6, part), of.read_mask(7, part)
                state = cgutils.alloca_once_value(builder, of.zero)
                builder.store(of.zero, state)
                with cgutils.for_range(builder, args[11]) as loop:
                    place = of.place(loop.index, part)
                    on, off, scale = (
                        of.read_factor(factors, loop.index, k) for k in (ON, OFF, SCALE)
                    )
                    left = values[0] if left_is_leaf else of.load(from_left, place)
                    right = values[1] if right_is_leaf else of.load(from_right, place)
                    change = builder.fsub(left, right)
                    product = builder.fmul(of.load(own, place), of.repeat(scale))
                    term = builder.fmul(product, change)
                    factor = of.choose(masks, on, off, share)
                    of.store(builder.fadd(right, builder.fmul(factor, change)), out, place)
                    if keeps_terms:
                        of.store(term, kept, place)
                    builder.store(builder.fadd(builder.load(state), term), state)
                weight = of.choose(masks, gained, lost, of.zero)
                of.add_to(builder.fmul(weight, builder.load(state)), total, part)
            return context.get_dummy_value()

        integers = types.int64, types.int64
        masks = types.uint64, types.uint64
        values = types.float64, types.float64
        known = types.float64, table, types.int64, types.int64
        rest = terms, sums, types.int64, types.int64
        return types.none(product, below, *integers, *values, *masks, *known, *rest), generate

    return close


@intrinsic
def add_pair(
    typing_context,
    terms,
    on_left,
    on_right,
    share,
    passes,
    table,
    split,
    side,
    fails,
    n_points,
    sums,
    pair,
):
    """Add to a pair of features, from the terms of a split on one of them.

    ``passes`` is the mask of rows that pass the other feature, whose split has the rates of these
    rows in its table. ``fails`` has those of other rows. Equivalent to this::

        for i in range(LANES):
            total = 0.0
            for q in range(n_points):
                total += terms[q, i] * (table[split, q, side] if passes[i] else fails[q])
            weight = 1 - share if on_left[i] else -share if on_right[i] else 0
            sums[pair, i] += weight * total
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        of = _Lanes(context, builder, signature, args)
        kept, total = of.point_to(0, 0, 0), of.point_to(10, args[11], 0)
        rates, fails = of.point_to(5, args[6], 0, args[7]), of.point_to(8, 0)
        share = args[3]
        lost = builder.fsub(ir.Constant(ir.DoubleType(), 0.0), share)
        gained = builder.fsub(ir.Constant(ir.DoubleType(), 1.0), share)
        for part in range(LANES // _PART):
            masks, passes = (of.read_mask(1, part), of.read_mask(2, part)), of.read_mask(4, part)
            state = cgutils.alloca_once_value(builder, of.zero)
            builder.store(of.zero, state)
            with cgutils.for_range(builder, args[9]) as loop:
                passing = of.repeat(of.read_factor(rates, loop.index, 0))
                failing = of.repeat(builder.load(builder.gep(fails, [loop.index])))
                rate = builder.select(passes, passing, failing)
                term = builder.fmul(of.load(kept, of.place(loop.index, part)), rate)
                builder.store(builder.fadd(builder.load(state), term), state)
            weight = of.choose(masks, gained, lost, of.zero)
            of.add_to(builder.fmul(weight, builder.load(state)), total, part)
        return context.get_dummy_value()

    masks = types.uint64, types.uint64, types.float64, types.uint64
    known = table, types.int64, types.int64, fails, types.int64
    return types.none(terms, *masks, *known, sums, types.int64), generate


descend_left, descend_right = _make_descend(True), _make_descend(False)
# By whether the left child is a leaf, and the right one.
close_00, close_10, close_01, close_11 = (
    _make_close(left, right, False) for right in (False, True) for left in (False, True)
)
keep_00, keep_10, keep_01, keep_11 = (
    _make_close(left, right, True) for right in (False, True) for left in (False, True)
)
