"""Properties that are worked out when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Value = TypeVar("_Value")


class lazy(Generic[_Value]):
    """A property that is worked out once and kept in the instance.

    As `functools.cached_property`, whose lock before Python 3.12 costs more than most of the
    properties here; two threads may both work a value out, and get the same.
    """

    def __init__(self, find: Callable[[Any], _Value]) -> None:
        self._find = find
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> _Value:
        value = self._find(instance)
        instance.__dict__[self._name] = value
        return value
