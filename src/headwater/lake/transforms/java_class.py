"""`java`: a class on the session's class path with the method of Hudi's `Transformer`."""

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from headwater.errors import TransformError
from headwater.lake.jvm import transform_by_class

SIGNATURE = "apply(JavaSparkContext, SparkSession, Dataset<Row>, TypedProperties)"


class JavaClass:
    """Calls `apply` of a new instance of the class.

    Resolves the method by name: the interface is in Hudi's utilities, which the Spark bundle lacks.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        try:
            return transform_by_class(frame, self._name)
        except Py4JJavaError as error:
            said = " ".join(str(error.java_exception).split())[:400]
            if "ClassNotFoundException" in said:
                raise TransformError(
                    f"there is no class {self._name} on the class path",
                    hint="add its jar to `spark.packages`, or to `spark.config: {spark.jars: PATH}`",
                ) from error
            raise TransformError(f"{self._name} threw {said}", hint="correct the class") from error
        except PySparkException as error:
            said = " ".join(str(error).split())[:400]
            raise TransformError(f"{self._name} threw {said}", hint="correct the class") from error
        except Py4JError as error:
            raise TransformError(
                f"{self._name} has no public method {SIGNATURE}",
                hint="declare it as in Hudi's `Transformer`",
            ) from error
