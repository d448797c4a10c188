"""Maps kinds to transforms. A new kind is one file, a key in `config/processing/transform.py` and a line
here."""

from collections.abc import Callable, Mapping
from typing import Any

from headwater.config.processing.transform import StepKind, TransformStep
from headwater.lake.transforms.columns import Cast, Drop, Keep, Rename
from headwater.lake.transforms.flattening import Flatten
from headwater.lake.transforms.java_class import JavaClass
from headwater.lake.transforms.personal_data import Hash, Mask
from headwater.lake.transforms.protocol import Transform, TransformSecrets
from headwater.lake.transforms.python_function import PythonFunction
from headwater.lake.transforms.sql.statement import Sql

# The options of a transform's kind are never None, which the types do not express.
_BUILDERS: Mapping[StepKind, Callable[[Any, TransformSecrets], Transform]] = {
    "sql": lambda step, _: Sql(step.sql),
    "sql_file": lambda step, _: Sql.from_file(step.sql_file),
    "flatten": lambda step, _: Flatten(step.flatten),
    "rename": lambda step, _: Rename(step.rename),
    "cast": lambda step, _: Cast(step.cast),
    "drop": lambda step, _: Drop(step.drop),
    "keep": lambda step, _: Keep(step.keep),
    "mask": lambda step, _: Mask(step.mask),
    "hash": lambda step, secrets: Hash(step.hash, secrets.salt),
    "python": lambda step, _: PythonFunction(step.python, step.folder),
    "java": lambda step, _: JavaClass(step.java),
}


def build_transform(step: TransformStep, secrets: TransformSecrets) -> Transform:
    """Build a transform from its configuration. Raises `ConfigError` for references that do not exist."""
    return _BUILDERS[step.kind](step, secrets)
