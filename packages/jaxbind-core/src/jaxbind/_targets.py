# SPDX-License-Identifier: BSD-2-Clause
"""Names and lifetimes of host functions.

Owns the answer to: which Python function does a compiled program call, and who keeps it alive? A program refers to a
host function by name and keyword arguments, never by address. The record and every executable hold the `HostFunction`
or a `CallTarget` (which holds it); when all are gone the function is freed and its name leads nowhere.
"""

from __future__ import annotations

import atexit
import hashlib
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from jaxbind import _bridge, _errors
from jaxbind._kwargs import Kwargs

# Marks names that mean nothing in another process. A forked child shares it, and with it the functions themselves.
_PROCESS = os.urandom(8).hex()
_serial = itertools.count()


class HostFunction:
    """A host function with its name. One object per function while anything uses it, so identity is equality.

    Attributes
    ----------
    call
        The user's function ``(out, args, kwargs_dump) -> None``.
    name
        ``module:qualname`` if the function can be found there, else that and a suffix unique to the process.
    """

    __slots__ = ("__weakref__", "call", "name", "resolved")

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        self.call = call
        self.name = name
        # Targets that programs without references to them ask for by name: they live as long as the function.
        self.resolved: dict[str, CallTarget] = {}

    @property
    def display_name(self) -> str:
        """The last part of the name, for messages."""
        return self.name.partition(":")[2].partition("#")[0].rpartition(".")[2] or self.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made from the function: a name belongs to one function of one process."""
        return host_function, (self.call,)

    def __repr__(self) -> str:
        return f"<host function {self.name}>"


class CallTarget:
    """One (host function, keyword arguments): what the bridge calls. Executables keep it alive."""

    __slots__ = ("__weakref__", "encoded", "function", "id", "kwargs")

    def __init__(self, function: HostFunction, kwargs: Kwargs, encoded: str) -> None:
        self.function = function
        self.kwargs = kwargs
        self.encoded = encoded
        self.id = target_id(function.name, encoded)
        serial = next(_serial)
        _bridge.add_target(self.id, serial, function.name, encoded, function.call, kwargs)
        # The bridge must not call what nobody holds any more. The serial number keeps a finalizer that runs late from
        # removing a successor. At exit the table is left alone: calls are refused then.
        weakref.finalize(self, _bridge.remove_target, self.id, serial).atexit = False

    @property
    def is_portable(self) -> bool:
        """Whether another process can find it: the function by a stable name, the keyword arguments by value."""
        return "#" not in self.function.name and self.kwargs.is_portable

    def keep(self) -> None:
        """Live as long as the host function, for programs that hold no reference."""
        self.function.resolved[self.encoded] = self


_lock = threading.RLock()  # Guards the four tables below. Reentrant: a collection may run a finalizer inside it.
_functions: weakref.WeakValueDictionary[Hashable, HostFunction] = weakref.WeakValueDictionary()
_by_name: weakref.WeakValueDictionary[str, HostFunction] = weakref.WeakValueDictionary()
_targets: weakref.WeakValueDictionary[tuple[str, str], CallTarget] = weakref.WeakValueDictionary()
# A stable name stays taken when its function is gone: a name never changes its function.
_taken: dict[str, Callable[[], Any]] = {}


def host_function(call: Callable[..., Any]) -> HostFunction:
    """The `HostFunction` of a callable: the same one for equal callables, as long as it is in use.

    Parameters
    ----------
    call
        The user's host function.

    Returns
    -------
    HostFunction
        With a stable name where the function can be found again by it.
    """
    key = _identity(call)
    with _lock:
        known = _functions.get(key)
        if known is None:
            known = HostFunction(call, _new_name(call))
            _functions[key] = known
            _by_name[known.name] = known
        return known


def call_target(function: HostFunction, kwargs: Kwargs) -> CallTarget:
    """The target for a host function and keyword arguments; whoever compiles a call must keep it alive.

    Parameters
    ----------
    function
        What to call.
    kwargs
        What to hand over as ``kwargs_dump``.

    Returns
    -------
    CallTarget
        The same one as long as one is alive.
    """
    encoded = kwargs.token
    key = (function.name, encoded)
    with _lock:
        target = _targets.get(key)
        if target is None:
            target = _targets[key] = CallTarget(function, kwargs, encoded)
        return target


def target_id(name: str, encoded: str) -> int:
    """The 64-bit id of a target: a hash that is the same in every process."""
    digest = hashlib.blake2b(f"{name}\0{encoded}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _identity(call: Callable[..., Any]) -> Hashable:
    """A key under which equal callables meet; unhashable ones go by address, which the value keeps taken."""
    try:
        hash(call)
    except TypeError:
        return (id(call),)
    return call


def _new_name(call: Callable[..., Any]) -> str:
    module = getattr(call, "__module__", None) or type(call).__module__
    qualname = getattr(call, "__qualname__", None) or type(call).__qualname__
    stable = f"{module}:{qualname}"
    if _find(module, qualname) is call and _taken.setdefault(stable, _weak(call))() is call:
        return stable
    return f"{stable}#{_PROCESS}-{next(_serial)}"


def _weak(call: Callable[..., Any]) -> Callable[[], Any]:
    """A weak reference where the type of callable allows one, else a strong one."""
    try:
        return weakref.ref(call)
    except TypeError:
        return lambda: call


def _find(module: str, qualname: str) -> object:
    found: object = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _resolve(name: str, encoded: str) -> tuple[Callable[..., Any], Kwargs]:
    """Find the target of a program that this process did not compile. Only registered functions are looked at."""
    with _lock:
        function = _by_name.get(name)
    if function is None:
        raise _errors.unknown_target(name)
    kwargs = Kwargs.from_token(encoded)
    call_target(function, kwargs).keep()
    return function.call, kwargs


_bridge.set_hooks(_resolve, _errors.describe_exception)
atexit.register(_bridge.close)
