"""Sort floats as integers, digit by digit.

The bits of a float become a key, an unsigned integer of the same size that sorts as the float
does. A missing value has the largest key.
"""

import numpy as np

from sumwise.kernels.runtime.jit import inlined, intrinsic, routine, types

# Bits of a digit; a sort needs a counter for each of its values.
_DIGIT = np.uint64(11)
N_DIGIT_VALUES = 1 << 11
_DIGIT_MASK = np.uint64(N_DIGIT_VALUES - 1)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
# The largest key of any size, once it is cut to that size.
MISSING = ~_ZERO


@intrinsic
def as_bits(typing_context, value):
    """The bits of a float as an unsigned integer of its size."""
    kind = types.uint32 if value == types.float32 else types.uint64

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(kind))

    return kind(value), generate


@routine
def drop_sign_of_zero(value):
    """Return 0.0 for -0.0, and any other float as it is."""
    return value + np.float32(0.0)


@routine
def key_of_float(value, n_bits):
    """The key of a float of ``n_bits`` bits; zeros of both signs have one."""
    if np.isnan(value):
        return MISSING
    bits = np.uint64(as_bits(drop_sign_of_zero(value)))
    top = np.uint64(n_bits - 1)
    # A negative number has all its bits flipped, another the sign only.
    return bits ^ ((_ZERO - (bits >> top)) | (_ONE << top))


@routine
def bits_of_key(key, n_bits):
    """The bits of the float that a key stands for."""
    key, top = np.uint64(key), np.uint64(n_bits - 1)
    return key ^ (((key >> top) - _ONE) | (_ONE << top))


@inlined
def sort_keys(keys, other_keys, weights, other_weights, weighted, starts):
    """Sort keys, and their weights if ``weighted``; return whether the ``other`` arrays have them.

    Equal keys keep their order; there is at least one. ``starts`` has ``N_DIGIT_VALUES`` integers.
    """
    in_other = False
    n = np.uint64(keys.size)
    for shift in range(_ZERO, np.uint64(8 * keys.itemsize), _DIGIT):
        for digit in range(starts.size):
            starts[digit] = 0
        for i in range(n):
            starts[(np.uint64(keys[i]) >> shift) & _DIGIT_MASK] += 1
        if starts[(np.uint64(keys[0]) >> shift) & _DIGIT_MASK] == keys.size:
            continue  # all have the same digit here
        end = 0
        for digit in range(np.uint64(N_DIGIT_VALUES)):
            count = starts[digit]
            starts[digit] = end
            end += count
        for i in range(n):
            digit = (np.uint64(keys[i]) >> shift) & _DIGIT_MASK
            place = starts[digit]
            starts[digit] = place + 1
            other_keys[place] = keys[i]
            if weighted:
                other_weights[place] = weights[i]
        keys, other_keys = other_keys, keys
        weights, other_weights = other_weights, weights
        in_other = not in_other
    return in_other
