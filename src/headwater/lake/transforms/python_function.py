"""`python`: a user-defined function, loaded without Spark and called with the rows."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headwater.config.problems.nearest import find_nearest
from headwater.errors import ConfigError, HeadwaterError, TransformError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORM = "write `module:function`, or `file.py:function` relative to the folder of the configuration"


class PythonFunction:
    """Calls `function(DataFrame) -> DataFrame`."""

    def __init__(self, spec: str, folder: Path) -> None:
        self._spec = spec
        self._function = load_function(spec, folder)

    def apply(self, frame: "DataFrame", carried: str | None) -> "DataFrame":
        """See `Transform`."""
        from pyspark.sql import DataFrame

        try:
            result = self._function(frame)
        except HeadwaterError:
            raise
        except Exception as error:  # user code may raise anything
            said = " ".join(str(error).split())[:400]
            raise TransformError(
                f"{self._spec} raised {type(error).__name__}: {said}", hint="correct the function"
            ) from error
        if not isinstance(result, DataFrame):
            raise TransformError(
                f"{self._spec} returned {type(result).__name__}, not a DataFrame",
                hint="return a DataFrame derived from its argument",
            )
        if carried is not None and carried not in result.columns:
            raise TransformError(
                f"the result of {self._spec} lacks the column {carried}, which identifies the record of "
                "each row",
                hint=f'keep it, as `df.select("{carried}", ...)` does; rows cannot be aggregated',
            )
        return result


def load_function(spec: str, folder: Path) -> Callable[[Any], Any]:
    """Load the function that `module:function` names, also from modules next to the configuration.

    Raises `ConfigError` if there is no such module or function, or if the import fails.
    """
    where, _, name = spec.rpartition(":")
    module = _load_file(Path(folder, where)) if where.endswith(".py") else _load_module(where, folder)
    found = getattr(module, name, None)
    if found is None:
        names = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        meant = find_nearest(name, names)
        more = f"; did you mean {meant!r}?" if meant else ""
        raise ConfigError(f"{where} has no function {name!r}{more}", hint=_FORM)
    if not callable(found):
        raise ConfigError(f"{spec} is {type(found).__name__}, not a function", hint=_FORM)
    _ship_with_tasks(module, folder)
    function: Callable[[Any], Any] = found
    return function


def _load_module(name: str, folder: Path) -> ModuleType:
    module_folder = str(folder.absolute())
    if module_folder not in sys.path:
        # Append the folder, so that its files never shadow installed modules.
        sys.path.append(module_folder)
        importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except Exception as error:  # a module may raise anything on import
        if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
            raise ConfigError(
                f"there is no module {name!r}, neither installed nor in {module_folder}", hint=_FORM
            ) from error
        raise ConfigError(_explain_import(name, error), hint="correct the module") from error


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"{path}: the file does not exist", hint=_FORM)
    name = f"headwater_step_{path.stem}_{abs(hash(path)):x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - it is a .py file
    assert spec.loader is not None  # noqa: S101 - as above
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(_explain_import(str(path), error), hint="correct the module") from error
    return module


def _explain_import(name: str, error: Exception) -> str:
    return f"{name} cannot be imported: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _ship_with_tasks(module: ModuleType, folder: Path) -> None:
    """Pickle functions of a module next to the configuration by value, because executors lack its file."""
    if "pyspark" not in sys.modules or not str(getattr(module, "__file__", "")).startswith(
        str(folder.absolute())
    ):
        return
    from pyspark import cloudpickle

    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    register(module)
