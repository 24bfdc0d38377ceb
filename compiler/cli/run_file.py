"""The options of a command as a TOML file: ``--dump-config`` prints it, ``--config`` reads it.

A key is the long name of an option, without dashes in front; the network is ``model``. What the
command line says counts instead of what the file says.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import typer

from ...ir.errors import InputError, OptionError
from ...ir.suggest import suggest
from .tool import in_plain_words

_NO_KEYS = frozenset(
    {
        *("help", "version", "install-completion", "show-completion", "list-archs"),
        *("config", "dump-config", "json", "explain", "quiet", "verbose"),
    }
)
"""Options that say nothing of the run itself."""

_ONE_OR_MORE = frozenset({"model", "arch"})
"""What a file may give as one text, too."""


def take_options_of(path: Path, context: typer.Context) -> None:
    """Let the values of a file be the defaults of a command's options.

    Args:
        path: The file.
        context: Of the command; its options are not read yet.

    Raises:
        InputError: The file cannot be read or is no TOML.
        OptionError: A key is no option, or its value is none of the option's.
    """
    known = _parameters(context)
    defaults: dict[str, Any] = {}
    for key, value in _tables(path).items():
        if key not in known:
            raise OptionError(f"{path}: no option {key!r}", hint=suggest(key, known))
        defaults[known[key].name] = _checked(f"{path}: {key}", known[key], value, context)
    context.default_map = defaults


def options_text(context: typer.Context, given: Mapping[str, object]) -> str:
    """Return the file of a run: a line for each option that has a value.

    Args:
        context: Of the command; its options are read.
        given: Values that count instead of those that were read, by key.
    """
    values = {key: context.params[item.name] for key, item in _parameters(context).items()}
    lines = {key: _written(value) for key, value in {**values, **given}.items()}
    return "".join(f"{key} = {text}\n" for key, text in lines.items() if text is not None)


def _parameters(context: typer.Context) -> dict[str, Any]:
    """Return what a file may set, by key."""
    names = {_key(item): item for item in context.command.params}
    return {key: item for key, item in names.items() if key not in _NO_KEYS}


def _key(parameter: Any) -> str:
    longest = max(parameter.opts, key=len).lstrip("-")
    return "model" if longest == "models" else longest


def _tables(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _checked(where: str, parameter: Any, value: object, context: typer.Context) -> object:
    """Return a value as the command line would give it."""
    shown = json.dumps(value, ensure_ascii=False, default=str)
    if getattr(parameter, "is_flag", False):
        given, form = value if isinstance(value, bool) else None, "true or false"
    elif getattr(parameter, "multiple", False) or parameter.nargs == -1:
        is_one = isinstance(value, str) and _key(parameter) in _ONE_OR_MORE
        given, form = _texts([value] if is_one else value), "a list of texts"
    else:
        given, form = _text_of(value), "a text or a number"
    if given is None:
        raise OptionError(f"{where} is {shown}, must be {form}")
    try:
        parameter.process_value(context, given)
    except typer.BadParameter as error:
        raise OptionError(f"{where} is {shown}: {in_plain_words(error.message)}") from None
    return given


def _texts(value: object) -> list[str] | None:
    """Return a list of texts; ``None`` for anything else."""
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    texts = [item for item in items if isinstance(item, str)]
    return texts if len(texts) == len(items) else None


def _text_of(value: object) -> str | None:
    """Return a text or a number as text; ``None`` for anything else."""
    is_one = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if is_one else None


def _written(value: object) -> str | None:
    """Return a value as TOML; nothing for an option without one."""
    if value is None or value == () or value == []:
        return None
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(str(item)) for item in value)}]"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return _text(str(value))


def _text(value: str) -> str:
    """Return a TOML string; JSON's escapes are TOML's, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
