"""Activations from command-line text such as `tanh(10x)+softsign1(10x)/10`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.activations.base import Activation
from pinnsig.activations.membership import check_membership
from pinnsig.activations.registry import find_activation, unknown_name
from pinnsig.activations.syntax import MAX_DEPTH, parse_syntax, shorten, too_deep
from pinnsig.core.errors import ActivationError

Function = Callable[[Tensor], Tensor]


def _softplus(x: Tensor) -> Tensor:
    # Unlike torch's, without a step where the formula changes.
    return torch.logaddexp(x, torch.zeros_like(x))


_CONSTANTS = {"pi": math.pi}
_FUNCTIONS: dict[str, Function] = {
    "relu": torch.relu,
    "softplus": _softplus,
    "sigmoid": torch.sigmoid,
    "cos": torch.cos,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "exp": torch.exp,
    "log": torch.log,
    "sign": torch.sign,
    "abs": torch.abs,
    "sqrt": torch.sqrt,
}
_OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True)
class _Multiple:
    """The argument a x of an activation."""

    factor: float


class _NotInClassError(Exception):
    """The expression is no positive combination of stretched activations."""


def parse_activation(text: str) -> Activation:
    """Return the activation that the text describes, a positive combination of known ones.

    Examples: `tanh`, `1.3 tanh(x)`, `2*(tanh(x)+erf(10x))/3`, `softsign2.5`. A name without
    brackets is the function of x.

    Raises:
        ActivationError: in one line, if the text cannot be read, or does not describe a
            positive combination of known activations (Corollary 1) and hence why not.
    """
    tree = parse_syntax(text)
    try:
        result = _combine(tree, 0)
        if not isinstance(result, Activation):
            raise _NotInClassError("there is no activation in it")
        return result
    except _NotInClassError as reason:
        raise ActivationError(_explain(text, str(reason))) from None


def build_activation(act: str, scale: float) -> Activation:
    """Return a f(x), with the scale a.

    Raises:
        ActivationError: no such activation.
    """
    f = parse_activation(act)
    return f if scale == 1.0 else scale * f


def parse_function(text: str) -> Function:
    """Return any whitelisted expression in x as a function on tensors.

    Beyond activations it may use relu, softplus, sigmoid, sin, cos, sinh, cosh, exp, log, sign,
    abs, sqrt, powers and differences. Nothing is said about its membership in the class.

    Raises:
        ActivationError: in one line, if the text cannot be read.
    """
    function = _compile(parse_syntax(text), 0)
    return function if callable(function) else lambda x: torch.full_like(x, function)


def _explain(text: str, reason: str) -> str:
    message = f"{shorten(text)} is not a positive combination of activations: {reason}"
    try:
        membership = check_membership(parse_function(text))
    except ActivationError:
        return message
    failed = [c.name for c in membership.conditions if not c.holds]
    return message + (f"; it fails {', '.join(failed)} of Definition 4.1" if failed else "")


def _arithmetic(symbol: ast.operator, left: float, right: float) -> float:
    try:
        result = _OPERATORS[type(symbol)](left, right)
    except (OverflowError, ZeroDivisionError):
        result = math.nan
    if isinstance(result, complex) or not math.isfinite(result):
        raise ActivationError("the expression contains a number that is infinite or undefined")
    return result


def _combine(node: ast.expr, depth: int) -> float | _Multiple | Activation:
    """Read a node as a number, a multiple of x, or an activation."""
    if depth > MAX_DEPTH:
        raise too_deep()
    match node:
        case ast.Constant(value=float(number)):
            return number
        case ast.Name(id="x"):
            return _Multiple(1.0)
        case ast.Name(id=name):
            return _CONSTANTS[name] if name in _CONSTANTS else _member(name)
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            f, inner = _member(name), _combine(argument, depth + 1)
            if not isinstance(inner, _Multiple) or not inner.factor > 0:
                raise _NotInClassError(f"the argument of {name} is not a positive multiple of x")
            return f if inner.factor == 1 else f.stretch(inner.factor)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _combine(operand, depth + 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _binary(ast.Mult(), -1.0, _combine(operand, depth + 1))
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in _OPERATORS:
            return _binary(symbol, _combine(left, depth + 1), _combine(right, depth + 1))
    raise _unreadable(node)


def _binary(
    symbol: ast.operator,
    left: float | _Multiple | Activation,
    right: float | _Multiple | Activation,
) -> float | _Multiple | Activation:
    match symbol, left, right:
        case _, float(), float():
            return _arithmetic(symbol, left, right)
        case ast.Mult(), float(), _Multiple() | Activation():
            return _binary(symbol, right, left)
        case ast.Mult() | ast.Div(), _Multiple(factor), float():
            return _Multiple(_arithmetic(symbol, factor, right))
        case ast.Mult() | ast.Div(), Activation(), float() if not right > 0:
            raise _NotInClassError(f"{left} has the factor {right:g}, which is not > 0")
        case ast.Mult() | ast.Div(), Activation(), float():
            return left * _arithmetic(symbol, 1.0, right)
        case ast.Add(), Activation(), Activation():
            return left + right
    raise _NotInClassError("only sums, positive factors and positive multiples of x are allowed")


def _member(name: str) -> Activation:
    if (activation := find_activation(name)) is not None:
        return activation
    if name in _FUNCTIONS:
        raise _NotInClassError(f"{name} is not an odd-sigmoid activation")
    raise unknown_name(name)


def _compile(node: ast.expr, depth: int) -> float | Function:
    """Read a node as a number or a function of x."""
    if depth > MAX_DEPTH:
        raise too_deep()
    match node:
        case ast.Constant(value=float(number)):
            return number
        case ast.Name(id="x"):
            return lambda x: x
        case ast.Name(id=name):
            return _CONSTANTS[name] if name in _CONSTANTS else _function(name)
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return _compose(_function(name), _compile(argument, depth + 1))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _compile(operand, depth + 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _apply(ast.Mult(), -1.0, _compile(operand, depth + 1))
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in _OPERATORS:
            return _apply(symbol, _compile(left, depth + 1), _compile(right, depth + 1))
    raise _unreadable(node)


def _compose(outer: Function, inner: float | Function) -> Function:
    if callable(inner):
        return lambda x: outer(inner(x))
    return lambda x: outer(torch.full_like(x, inner))


def _apply(
    symbol: ast.operator, left: float | Function, right: float | Function
) -> float | Function:
    operate = _OPERATORS[type(symbol)]
    if callable(left):
        if callable(right):
            return lambda x: operate(left(x), right(x))
        return lambda x: operate(left(x), right)
    if callable(right):
        return lambda x: operate(left, right(x))
    return _arithmetic(symbol, left, right)


def _function(name: str) -> Function:
    if (function := _FUNCTIONS.get(name) or find_activation(name)) is not None:
        return function
    raise unknown_name(name, _FUNCTIONS)


def _unreadable(node: ast.expr) -> ActivationError:
    return ActivationError(f"cannot use {shorten(ast.unparse(node))} in an activation expression")
