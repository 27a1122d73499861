"""Histograms on their way to other processes, in as few bytes as their sums need.

A node has one of three forms, by the number of its rows in all processes:

- packed: one word per bin, as in the histogram itself; up to 4,095 rows.
- pairs: one word ``(g << 32) + h`` per bin, then the row counts, three to a word; up to 262,144
  rows, so that neither a bin nor a sum of bins overflows.
- plain: three words per bin.

Words are added up as they are: sums of words are words of sums. Histograms of exact values are
plain, whatever the number of rows.
"""

from sumwise.kernels.grow.candidates import feature_bins, is_drawn
from sumwise.kernels.grow.layout import COUNT, N_STATS
from sumwise.kernels.runtime.jit import ZERO, inlined, kernel, routine
from sumwise.kernels.runtime.reference import item

PACKED, PAIRS, PLAIN = 0, 1, 2
# With more rows, hessians of up to 14 bits each may need more than 32.
PAIR_ROWS = 1 << 18
_PAIR_SHIFT, _PAIR_MASK = 32, (1 << 32) - 1
# Row counts of 21 bits.
_PER_WORD, _COUNT_SHIFT, _COUNT_MASK = 3, 21, (1 << 21) - 1


@inlined
def choose_form(job, node):
    """Return the form of a node's histogram in a message."""
    if job.nodes[node].packed:
        return PACKED
    if job.exact or job.work.totals[node, COUNT] > PAIR_ROWS:
        return PLAIN
    return PAIRS


@routine
def count_words(form, n_bins):
    """Return how many words a feature takes."""
    if form == PACKED:
        return n_bins
    if form == PAIRS:
        return n_bins + (n_bins + _PER_WORD - 1) // _PER_WORD
    return N_STATS * n_bins


@routine
def write_bins(form, bins, n_bins, words):
    """Write a feature's bins to its words in a message."""
    if form != PAIRS:
        for i in range(words.size):
            words[i] = bins[i]
        return
    hessian, count = bins[n_bins : 2 * n_bins], bins[2 * n_bins : 3 * n_bins]
    for b in range(n_bins):
        words[b] = (bins[b] << _PAIR_SHIFT) + hessian[b]
    for w in range(words.size - n_bins):
        word = ZERO
        for b in range(_PER_WORD * w, min(_PER_WORD * (w + 1), n_bins)):
            word += count[b] << (_COUNT_SHIFT * (b - _PER_WORD * w))
        words[n_bins + w] = word


@routine
def read_bins(form, bins, n_bins, words):
    """Read a feature's bins from its words in a message."""
    if form != PAIRS:
        for i in range(words.size):
            bins[i] = words[i]
        return
    hessian, count = bins[n_bins : 2 * n_bins], bins[2 * n_bins : 3 * n_bins]
    for b in range(n_bins):
        word = words[b]
        bins[b] = word >> _PAIR_SHIFT
        hessian[b] = word & _PAIR_MASK
    for w in range(words.size - n_bins):
        word = words[n_bins + w]
        for b in range(_PER_WORD * w, min(_PER_WORD * (w + 1), n_bins)):
            count[b] = word & _COUNT_MASK
            word >>= _COUNT_SHIFT


@kernel
def lay_out_sums(jobs, nodes, start):
    """Say where the sums of each of some nodes begin in a message; the last item is its length."""
    job = item(jobs, 0)
    length = ZERO
    for k in range(nodes.size):
        start[k] = length
        form = choose_form(job, nodes[k])
        for f in range(job.table.n_value_bins.size):
            if is_drawn(job, f):
                length += count_words(form, job.table.n_value_bins[f] + 1)
    start[nodes.size] = length


@kernel
def copy_sums(thread, n_threads, sync, jobs, nodes, start, message, reads):
    """Write the histograms of some nodes to a message, or read them: all features of the tree."""
    job = item(jobs, thread)
    for k in range(thread, nodes.size, n_threads):
        begin, form = start[k], choose_form(job, nodes[k])
        for f in range(job.table.n_value_bins.size):
            if is_drawn(job, f):
                n_bins = job.table.n_value_bins[f] + 1
                end = begin + count_words(form, n_bins)
                copy_bins(job, nodes[k], f, form, message[begin:end], reads)
                begin = end


@inlined
def copy_bins(job, node, f, form, words, reads):
    """Write a feature's bins to a part of a message, or read them from it."""
    bins, n_bins = feature_bins(job, node, f), job.table.n_value_bins[f] + 1
    if reads:
        read_bins(form, bins, n_bins, words)
    else:
        write_bins(form, bins, n_bins, words)
