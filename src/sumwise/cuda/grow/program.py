"""The program ``grow``: all kernels of growing trees."""

from sumwise.cuda.grow.layout import make_grow_header
from sumwise.cuda.runtime.device import Program

_NAMES = "quantize histogram score categorical decide symmetric partition values set_values walk"
FILES = tuple(f"grow/{name}.cu" for name in _NAMES.split())
GROW = Program("grow", FILES, make_grow_header())
