"""Copy values as they are, with all threads: one does not keep up with the bus of a GPU."""

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share


@routine
def _copy_run(values, out):
    for k in range(out.size):
        out[k] = values[k]


@kernel
def copy_items(thread, n_threads, sync, values, line_stride, item_stride, length, first, last, out):
    """Copy items [first, last) of a matrix to ``out``.

    Items are counted along lines of ``length`` items, the rows or the columns of the matrix: item k
    of line i is ``values[i * line_stride + k * item_stride]``.
    """
    begin, end = share(last - first, thread, n_threads)
    line = (first + begin) // length
    item = first + begin - line * length
    while begin < end:
        n_items = min(length - item, end - begin)
        source = line * line_stride + item * item_stride
        if item_stride == 1:
            _copy_run(values[source : source + n_items], out[begin : begin + n_items])
        else:
            for k in range(n_items):
                out[begin + k] = values[source + k * item_stride]
        begin += n_items
        line += 1
        item = 0
