"""Classifies Spark and Hudi errors: whether a batch failed because of its data. Pure."""

import re

from headwater.errors import IngestError, LakeError, TransformError
from headwater.lake.failures import find_root_cause

# The same rows may succeed next time: the cause is the machine, the store, another writer, or a setting.
_OPERATIONAL = re.compile(
    r"OutOfMemoryError|GC overhead|[Ll]ost executor|ExecutorLostFailure|ExecutorDeadException"
    r"|SparkContext (?:was|has been) (?:shut down|stopped)|\bcancel+ed\b|InterruptedException"
    r"|TimeoutException|SocketException|ConnectException|UnknownHostException|FetchFailed|BlockMissing|ClosedChannelException"
    r"|HoodieLockException|ConflictException|ConflictDetectionException|HoodieRollbackException"
    r"|SdkClientException|AmazonS3Exception|S3Exception|No space left|Disk quota|AccessDenied"
    r"|Python worker (?:exited|failed to connect)"
    # An executor lacks the extra that a format needs.
    r"|MissingExtraError"
)
# An invalid statement or class is invalid for every row.
_DEFINITION = re.compile(r"AnalysisException|ParseException|ClassNotFound|NoClassDefFound|NoSuchMethod")
_DATA = re.compile(
    # A partition value that cannot be the name of a folder: it has a colon or is too long.
    r"URISyntaxException|File name too long|Invalid file path|KeyTooLong|FileNotFoundException: .*"
    r"\.hoodie_partition_metadata"
    r"|StackOverflowError|java\.lang\.RuntimeException"
    r"|(?:Arithmetic|DateTime|DateTimeParse|NumberFormat|ClassCast|IllegalArgument|IllegalState|NullPointer"
    r"|IndexOutOfBounds|UnsupportedOperation|NegativeArraySize|NoSuchElement|MalformedInput|CharacterCoding"
    r"|SparkRuntime|SchemaCompatibility|Schema|Key|Record|Encoding|Incompatible\w*"
    r"|Avro\w*|UnresolvedUnion|InvalidRecord|NotSupported)Exception"
    r"|Hoodie(?:|Upsert|Insert|Append|Write|Record\w*|Avro\w*|Schema\w*|Internal)Exception"
)


def is_data_failure(error: Exception) -> bool:
    """True if the error indicates that the content of the rows prevents computing or writing them.

    This is only a hint: bisection then shows whether some of the rows fail by themselves. Errors with their
    own explanation (no space, a conflict, corrupt files, another table) are never data failures.
    """
    is_open = type(error) in (LakeError, IngestError, TransformError)
    cause = error.__cause__
    return is_open and isinstance(cause, Exception) and is_data_message(describe_cause(cause))


def describe_cause(error: Exception) -> str:
    """Return the error's text, which starts with its class unless it is a Java stack trace."""
    text = str(error)
    return text if "\n\tat " in text else f"{type(error).__name__}: {text}"


def is_data_message(text: str) -> bool:
    """True if the class and text of an exception, with or without a stack trace, indicate bad data."""
    if _OPERATIONAL.search(text):
        return False
    root = find_root_cause(text)
    is_python = "PythonException" in text
    return (is_python or bool(_DATA.search(root))) and not _DEFINITION.search(root)
