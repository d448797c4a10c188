"""`mask` and `hash`: make personal data unreadable."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headwater.config.processing.transform import SALT_VARIABLE, MaskConfig
from headwater.errors import ConfigError, TransformError
from headwater.lake.transforms.columns import find_columns, quote


class Mask:
    """Replaces values with asterisks except for their last characters, or with a fixed text."""

    def __init__(self, config: MaskConfig) -> None:
        self._config = config

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        for name in find_columns(frame, self._config.columns, carried):
            _refuse_nested(name, frame.schema[name].dataType)
            frame = frame.withColumn(name, self._mask(quote(name).cast("string")))
        return frame

    def _mask(self, text: Column) -> Column:
        if self._config.replace_with is not None:
            return F.when(text.isNotNull(), F.lit(self._config.replace_with))
        kept = self._config.keep_last or 0
        length = F.length(text)
        # Mask a value completely if it is not longer than the visible suffix.
        hidden = F.when(length <= kept, length).otherwise(length - kept)
        stars = F.regexp_replace(text.substr(F.lit(1), hidden), "(?s).", "*")
        return F.concat(stars, text.substr(hidden + 1, length))


class Hash:
    """Replaces values with the hex SHA-256 of salt and value; equal values stay equal under the same salt."""

    def __init__(self, names: Sequence[str], salt: str | None) -> None:
        if not salt:
            raise ConfigError(
                f"`hash` needs a salt, and the environment variable {SALT_VARIABLE} is not set",
                hint=f"set {SALT_VARIABLE} to a long random text, and never change it: another salt changes "
                "all hashes",
            )
        self._names = names
        self._salt = salt

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        for name in find_columns(frame, self._names, carried):
            _refuse_nested(name, frame.schema[name].dataType)
            # Null stays null: the hash of an empty string would look like a value.
            salted = F.concat(F.lit(self._salt), quote(name).cast("string"))
            frame = frame.withColumn(name, F.sha2(salted, 256))
        return frame


def _refuse_nested(name: str, kind: DataType) -> None:
    if isinstance(kind, (ArrayType, MapType, StructType)):
        raise TransformError(
            f"{name!r} is {kind.simpleString()}, not a single value",
            hint="flatten it in an earlier transform, or drop it",
        )
