"""Compile kernels by Numba, to object files. Imported only when there is something to compile.

An object file holds one kernel with all routines it calls, for one list of kinds and one CPU. It
needs nothing of Python or Numba when it runs: kernels allocate nothing and count no references. So
it can be kept on disk, loaded by LLVM, or linked into a library.

The classes of Numba that this needs are private; they are used here and in ``reference_types``
alone.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import _dynfunc, types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic, overload
from numba.np.numpy_support import from_dtype

from sumwise.kernels.runtime.arguments import WORDS, ArrayKind, ReferenceKind, TupleKind
from sumwise.kernels.runtime.machine_code import RESULT

_WORD = ir.IntType(64)

# "numpy": a division by zero gives inf or nan instead of a branch that stops vectorization.
# Never fastmath: it lets the compiler reorder sums, and the model's bytes would follow.
# No counting of references: kernels allocate nothing, and without it they compile faster.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}


class _UnloadedLibrary(JITCodeLibrary):
    """Code that is not to be loaded into this process by Numba."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _RoutineLibrary(_UnloadedLibrary):
    """Code that is linked into kernels and optimized there."""

    def _optimize_final_module(self) -> None:
        pass


class _RoutineCompiler(Compiler):
    """Numba's compiler, without what a routine does not need; saves a quarter of the time."""

    def __init__(self, typing_context: Any, target_context: Any, *args: Any) -> None:
        super().__init__(typing_context, target_context, *args)
        self.state.flags.no_compile = True
        self.state.library = _RoutineLibrary(target_context.codegen(), "routine")

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        # Numba knows a function by the object that Python would call, so there must be one.
        result = super().compile_extra(function)
        parts = (result.library,)
        module, name = sys.modules[__name__], function.__name__
        entry = _dynfunc.make_function(module, name, "", 0, result.environment, parts)
        self.state.targetctx.insert_user_function(entry, result.fndesc, parts)
        return result._replace(entry_point=entry)


ROUTINE_OPTIONS = {**_OPTIONS, "pipeline_class": _RoutineCompiler}
MERGED_OPTIONS = {**ROUTINE_OPTIONS, "forceinline": True}


# --- what Numba makes of the functions of jit.py ---


def prepare_routine(function: Callable[..., Any]) -> Any:
    """Make Numba's dispatcher of a routine."""
    return numba.njit(**ROUTINE_OPTIONS)(function)


def prepare_merged(function: Callable[..., Any]) -> Any:
    """Make a dispatcher of a routine whose machine code becomes part of its caller's."""
    return numba.njit(**MERGED_OPTIONS)(function)


def prepare_inlined(function: Callable[..., Any]) -> Any:
    """Make a dispatcher of a routine that is put into its caller before compilation."""
    return numba.njit(**ROUTINE_OPTIONS, inline="always")(function)


def prepare_intrinsic(function: Callable[..., Any]) -> Any:
    """Make Numba's intrinsic."""
    return intrinsic(function)


def prepare_choice(function: Callable[..., Any], routines: dict[type, Any]) -> Any:
    """Have Numba replace a function by the routine for the class of its first argument."""

    @overload(function, jit_options=MERGED_OPTIONS)
    def choose(target, *args):
        implementation = routines[target.instance_class]

        def call(target, *args):
            return implementation(target, *args)

        return call

    return function


def find_type(prepared: Any) -> Any:
    """Return the type that Numba gives to a prepared function."""
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(prepared)


def to_type(kind: Any) -> Any:
    """Return Numba's type for a kind of argument."""
    if isinstance(kind, ArrayKind):
        layout = "C" if kind.is_plain else "A"
        return types.Array(from_dtype(kind.dtype), kind.ndim, layout, aligned=kind.is_plain)
    if isinstance(kind, TupleKind):
        items = tuple(map(to_type, kind.items))
        owner = {} if kind.owner is tuple else {"pyclass": kind.owner}
        return types.BaseTuple.from_types(items, **owner)
    if isinstance(kind, ReferenceKind):
        # Import here, because it registers types of its own with Numba.
        from sumwise.kernels.runtime.reference_types import Reference, check_layout

        target = to_type(kind.target)
        check_layout(kind.target, target)
        return Reference(target)
    return types.boolean if kind == "bool" else getattr(types, kind)


# --- object files ---


class _KernelCompiler(Compiler):
    """Numba's compiler, which stops before machine code is made."""

    def __init__(self, typing_context: Any, target_context: Any, *args: Any) -> None:
        super().__init__(typing_context, target_context, *args)
        self.state.library = _UnloadedLibrary(target_context.codegen(), "kernel")


@global_compiler_lock
def compile_to_object(
    function: Callable[..., Any], kinds: tuple[Any, ...], symbol: str, is_verb: bool
) -> bytes:
    """Compile a function for arguments of some kinds; return an object file with the symbol.

    The symbol of a verb is a function as Numba calls it; that of a kernel takes a block of words.
    """
    argument_types = tuple(map(to_type, kinds))
    flags = Flags()
    flags.nrt = False
    flags.error_model = "numpy"
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    contexts = cpu_target.typing_context, cpu_target.target_context
    for context in contexts:
        context.refresh()
    wanted = types.int64 if is_verb else None
    compiler = _KernelCompiler(*contexts, None, argument_types, wanted, flags, {})
    compiled = compiler.compile_extra(function)
    code, context = compiled.library, contexts[1]
    if not is_verb:
        code.add_ir_module(_make_entry(context, compiled.fndesc, argument_types, symbol))
    code.finalize()
    module = code._final_module
    if is_verb:
        module.get_function(compiled.fndesc.llvm_func_name).name = symbol
    _hide_all_but(module, (symbol, symbol + RESULT))
    return _get_target_machine().emit_object(module)


def _hide_all_but(module: Any, symbols: tuple[str, ...]) -> None:
    """Let nothing else be seen of a module: two kernels may have routines of one name."""
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in symbols:
            value.linkage = "internal"


@cache
def _get_target_machine() -> Any:
    """Make what emits code that can be loaded anywhere; else like Numba's own."""
    codegen = cpu_target.target_context.codegen()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features, name = codegen._tm_features, codegen._get_host_cpu_name()
    return target.create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="small"
    )


def _make_entry(context: Any, descriptor: Any, argument_types: Any, symbol: str) -> ir.Module:
    """Write the function that takes a block of words, calls a kernel and returns its status."""
    module = context.create_module(symbol)
    convention = context.call_conv
    result_type = descriptor.restype
    function_type = convention.get_function_type(result_type, argument_types)
    called = ir.Function(module, function_type, descriptor.llvm_func_name)
    entry_type = ir.FunctionType(ir.IntType(32), [ir.PointerType(_WORD)])
    entry = ir.Function(module, entry_type, symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    words = _Words(builder, entry.args[0])
    arguments = [words.read(context, kind) for kind in argument_types]
    status, result = convention.call_function(
        builder, called, result_type, argument_types, arguments
    )
    letters = _spell_results(result_type)
    for place, own in enumerate(letters):
        value = builder.extract_value(result, place) if len(letters) > 1 else result
        words.write(value, own)
    builder.ret(builder.zext(status.is_error, ir.IntType(32)))
    _export_text(module, symbol + RESULT, letters)
    return module


def _spell_results(kind: Any) -> str:
    """Return the format of what a kernel returns."""
    if kind == types.none:
        return ""
    if isinstance(kind, types.BaseTuple):
        return "".join(map(_spell_results, kind))
    if isinstance(kind, types.Integer):
        return "q" if kind.signed else "Q"
    return "?" if kind == types.boolean else WORDS[str(kind)]


def _export_text(module: ir.Module, symbol: str, text: str) -> None:
    data = bytearray(text.encode() + b"\0")
    value = ir.Constant(ir.ArrayType(ir.IntType(8), len(data)), data)
    variable = ir.GlobalVariable(module, value.type, symbol)
    variable.global_constant, variable.initializer = True, value


class _Words:
    """Reads the words of a block one after the other."""

    def __init__(self, builder: Any, block: Any) -> None:
        self._builder, self._block, self._place = builder, block, 0

    def _next(self) -> Any:
        place = self._builder.gep(self._block, [_WORD(self._place)])
        self._place += 1
        return place

    def read(self, context: Any, kind: Any) -> Any:
        """Return the value of the next argument."""
        builder = self._builder
        if isinstance(kind, types.BaseTuple):
            items = [self.read(context, item) for item in kind]
            return context.make_tuple(builder, kind, items)
        word = builder.load(self._next())
        if isinstance(kind, types.Array):
            return _read_array(context, builder, kind, word)
        value_type = context.get_value_type(kind)
        if isinstance(value_type, ir.PointerType):
            return builder.inttoptr(word, value_type)
        if isinstance(value_type, ir.IntType):
            return builder.trunc(word, value_type) if value_type.width < 64 else word
        return builder.bitcast(word, value_type)

    def write(self, value: Any, letter: str) -> None:
        """Write a result into the next word."""
        builder = self._builder
        if letter == "d":
            value = builder.bitcast(value, _WORD)
        elif value.type.width < _WORD.width:
            value = (builder.sext if letter == "q" else builder.zext)(value, _WORD)
        self._builder.store(value, self._next())


def _read_array(context: Any, builder: Any, kind: Any, word: Any) -> Any:
    """Read what an array is from its NumPy object: data, number of dimensions, shape, strides."""
    fields = builder.inttoptr(word, ir.PointerType(_WORD))
    data, shape, strides = (builder.load(builder.gep(fields, [_WORD(i)])) for i in (0, 2, 3))

    def read_all(word: Any) -> Any:
        begin = builder.inttoptr(word, ir.PointerType(_WORD))
        places = (builder.gep(begin, [_WORD(i)]) for i in range(kind.ndim))
        return cgutils.pack_array(builder, [builder.load(place) for place in places], ty=_WORD)

    array = context.make_array(kind)(context, builder)
    context.populate_array(
        array,
        data=builder.inttoptr(data, array.data.type),
        shape=read_all(shape),
        strides=read_all(strides),
        itemsize=_WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype))),
        meminfo=None,
    )
    return array._getvalue()
