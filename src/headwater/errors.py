"""The error tree. Every error says what, where, what is allowed and what to do next.

HeadwaterError                exit code 1
├── ConfigError               2  the file, the environment or a flag is wrong; all problems at once
│   └── MissingExtraError     2  a section or a command needs packages of an extra that is not installed
├── UsageError                2  a command was asked for something that does not exist
│   ├── AsOfUnavailableError  2  an answer as of an instant that the index does not reach
│   └── InstantUnavailableError 2 a past state of a table that its files do not make whole any more
├── PlatformError             1  this machine cannot run it: Java, Spark, jars
├── LakeError                 1  a Hudi table or the place where it lies
│   ├── LakeNotWritableError  1
│   ├── TableNotFoundError    2
│   ├── TableBusyError        1  (retryable) another process writes it, and nothing keeps the two apart
│   ├── WriteConflictError    1  (retryable) another writer has changed the same files meanwhile
│   ├── TableDamagedError     1  files of the table are not as its commits wrote them
│   ├── TableMismatchError    1  what lies there is not the table that was configured
│   └── TableUnsupportedError 1  only Spark can read it
├── CatalogError              1  a catalog refuses what it was asked
│   ├── CatalogConflictError  1  the name is another table's there
│   └── CatalogUnavailableError 1 (retryable) it does not answer now
├── SourceError               1  the bucket, folder or queue
│   ├── BucketNotFoundError   1
│   ├── QueueNotFoundError    1
│   ├── CredentialsError      1  no, wrong or expired credentials; clock skew
│   ├── ResourceConflictError 1  what is there is somebody else's, or overlaps with what is needed
│   └── SourceUnavailableError 1 (retryable) network, throttling, 5xx
├── ObjectError               one object; never ends a batch
│   ├── ObjectMissingError        404
│   ├── ObjectForbiddenError      403
│   ├── ObjectSupersededError     the named version is not what lies there now
│   ├── ObjectUnreadableError     bytes that are not what the format says
│   ├── ObjectSchemaError         columns whose types the table cannot take
│   ├── ObjectTooLargeError       more bytes, fetched or decompressed, than allowed
│   └── ObjectUnavailableError    (retryable) 5xx, time-out
├── IngestError               1  a data table's batch failed
│   ├── DefectError           1  an exception that nothing foresaw; retried, and reported at once
│   ├── NewColumnsError       1  objects have new columns, and the table is to end with that
│   ├── TransformError        1  a step of the table's transform cannot do its work
│   └── CheckFailedError      1  the batch's rows are not what a check of the table wants
└── SearchError               1  the index, its store or its model
    ├── IndexNotFoundError    2  nothing has been indexed yet, or there is no such version
    ├── IndexUnavailableError 1  (retryable) the store does not answer now
    ├── EmbedderUnavailableError 1 (retryable) the model's endpoint does not answer now
    └── LanguageModelError    1  (retryable) who words the answers cannot be asked, or is too slow
"""

from typing import ClassVar


class HeadwaterError(Exception):
    """Root of all errors a user can meet.

    `hint` is the sentence that tells what to do next; `retryable` tells a loop whether the same
    call may succeed later without anyone changing anything.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  -> {self.hint}" if self.hint else self.message


class ConfigError(HeadwaterError):
    """One or more problems in the configuration; `message` holds all of them, one a line."""

    exit_code = 2


class MissingExtraError(ConfigError):
    """A section of the configuration, or a command, needs packages of an extra that is not installed.

    `hint` is the command that installs it.
    """


class UsageError(HeadwaterError):
    """A command names a table, an id or a file that does not exist."""

    exit_code = 2


class AsOfUnavailableError(UsageError):
    """The index does not reach back to that instant, or not yet up to it.

    The message says what is allowed, and nothing but instants: clients of the API are shown it.
    """


class InstantUnavailableError(UsageError):
    """A table as it was, or what changed since then, cannot be told whole; the message says from when on."""


class PlatformError(HeadwaterError):
    """Java, Spark or the jars are missing or unusable."""


class LakeError(HeadwaterError):
    """A Hudi table could not be read or written."""


class LakeNotWritableError(LakeError):
    """The lake's location refuses writes."""


class TableNotFoundError(LakeError):
    """No Hudi table at that path."""

    exit_code = 2


class TableBusyError(LakeError):
    """Another process is writing the table, or holds its lock for too long."""

    retryable = True


class WriteConflictError(LakeError):
    """Another writer has changed the same files since this write began; nothing of it is in the table."""

    retryable = True


class TableDamagedError(LakeError):
    """Files of the table are gone, cut short or unreadable: rows that were committed cannot be read.

    Trying again does not help: the files have to be put back, or the table has to be taken back or mended.
    """


class TableMismatchError(LakeError):
    """The table at that path was made with another key, type, partitioning or version.

    Trying again does not help: the configuration or the table has to be changed.
    """


class TableUnsupportedError(LakeError):
    """The reader without a JVM cannot read this table or place; Spark can."""


class CatalogError(HeadwaterError):
    """A catalog refuses what it was asked, or the table cannot be told to it. Rows are never concerned."""


class CatalogConflictError(CatalogError):
    """The catalog has something else under the table's name. Trying again does not help."""


class CatalogUnavailableError(CatalogError):
    """The catalog does not answer now."""

    retryable = True


class SourceError(HeadwaterError):
    """The bucket, the folder or the queue cannot be used."""


class BucketNotFoundError(SourceError):
    """The bucket does not exist."""


class QueueNotFoundError(SourceError):
    """The queue does not exist or is in another region or account."""


class CredentialsError(SourceError):
    """Credentials are missing, wrong or expired, or the clock is too far off to sign with."""


class ResourceConflictError(SourceError):
    """Queue, topic, rule or notification cannot be made beside what others have made."""


class SourceUnavailableError(SourceError):
    """The source does not answer now: network, throttling, 5xx."""

    retryable = True


class ObjectError(HeadwaterError):
    """One object could not be used; `reason` is the word stored in quarantine and ledger."""

    reason: ClassVar[str] = "error"


class ObjectMissingError(ObjectError):
    """No such key or version."""

    reason = "missing"


class ObjectForbiddenError(ObjectError):
    """Access to the object is denied."""

    reason = "forbidden"


class ObjectSupersededError(ObjectError):
    """What lies under the key is no longer the state that the event named."""

    reason = "superseded"


class ObjectUnreadableError(ObjectError):
    """The bytes are not what the format or the compression says they are."""

    reason = "unparsable"


class ObjectSchemaError(ObjectError):
    """The object's columns have types that the table's columns cannot take."""

    reason = "schema"


class ObjectTooLargeError(ObjectError):
    """The object, as it lies there or decompressed, exceeds the limit for one object."""

    reason = "oversize"


class ObjectUnavailableError(ObjectError):
    """The store did not answer after all retries."""

    reason = "unavailable"
    retryable = True


class IngestError(HeadwaterError):
    """A batch of one data table failed; its checkpoint has not moved."""


class DefectError(IngestError):
    """An exception in a table's thread that no code foresaw: a defect of headwater."""


class NewColumnsError(IngestError):
    """Objects have columns that the table has not, and its mode is `fail_on_new_columns`.

    Trying again does not help: the mode, or the columns, have to be changed.
    """


class TransformError(IngestError):
    """A step of the table's `transform` cannot be applied, or what comes out of it cannot be written.

    Trying again does not help: the step, or the objects, have to be changed.
    """


class CheckFailedError(IngestError):
    """A check of the table with `on_failure: fail` does not hold for the batch's rows.

    Trying again does not help: the objects, or the check, have to be changed.
    """


class SearchError(HeadwaterError):
    """The index, the store it lies in or the model that fills it cannot be used."""


class IndexNotFoundError(SearchError):
    """There is no index, or no version of that name."""

    exit_code = 2


class IndexUnavailableError(SearchError):
    """The store of the index does not answer now."""

    retryable = True


class EmbedderUnavailableError(SearchError):
    """The endpoint of the model that turns text into vectors does not answer now."""

    retryable = True


class LanguageModelError(SearchError):
    """The model that words answers cannot be asked, is too slow or refuses."""

    retryable = True
