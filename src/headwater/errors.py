"""The error tree. Every error says what, where, what is allowed and what to do next.

HeadwaterError                exit code 1
├── ConfigError               2  the file, the environment or a flag is wrong; all problems at once
│   └── MissingExtraError     2  a section or a command needs packages of an extra that is not installed
├── UsageError                2  a command names something that does not exist
│   ├── AsOfUnavailableError  2  an answer as of an instant that the index does not reach
│   └── InstantUnavailableError 2 a past state of a table whose files are no longer complete
├── PlatformError             1  this machine cannot run it: Java, Spark, jars, a port in use
├── LakeError                 1  a Hudi table or its location
│   ├── LakeNotWritableError  1
│   ├── TableNotFoundError    2
│   ├── TableBusyError        1  (retryable) another process is writing it, and no lock isolates the two
│   ├── WriteConflictError    1  (retryable) another writer changed the same files concurrently
│   ├── TableDamagedError     1  files of the table differ from what its commits wrote
│   ├── TableMismatchError    1  the table at the path is not the configured one
│   ├── TableUnsupportedError 1  only Spark can read it
│   └── IcebergViewError      1  the Iceberg view of a table cannot show its newest commit
├── RunFailedError            1  tables or components of a run failed; raised by the Python API
├── CatalogError              1  a catalog rejects a request
│   ├── CatalogConflictError  1  the name belongs to another table there
│   └── CatalogUnavailableError 1 (retryable) it does not answer now
├── SourceError               1  the bucket, folder or queue
│   ├── BucketNotFoundError   1
│   ├── QueueNotFoundError    1
│   ├── CredentialsError      1  missing, wrong or expired credentials; clock skew
│   ├── ResourceConflictError 1  a resource belongs to another owner, or overlaps with the required one
│   └── SourceUnavailableError 1 (retryable) network, throttling, 5xx
├── ObjectError               one object; never ends a batch
│   ├── ObjectMissingError        404
│   ├── ObjectExpiredError        removed by the source before it was read
│   ├── ObjectForbiddenError      403
│   ├── ObjectSupersededError     the named version is no longer the current one
│   ├── ObjectUnreadableError     bytes that do not match the format
│   ├── ObjectSchemaError         columns with types that the table cannot store
│   ├── ObjectTooLargeError       more bytes, fetched or decompressed, than allowed
│   ├── ObjectTooSlowError        parsing takes longer than allowed
│   └── ObjectUnavailableError    (retryable) 5xx, timeout
├── IngestError               1  a data table's batch failed
│   ├── BacklogError          1  (retryable) table services are too far behind for another batch
│   ├── RegistryUnavailableError 1 (retryable) the schema registry does not answer now
│   ├── ObjectsChangedError   1  (retryable) objects had to be read again, and have changed
│   ├── DefectError           1  an unexpected exception; retried, and reported at once
│   ├── NewColumnsError       1  objects have new columns, and the table is set to fail then
│   ├── TransformError        1  a transform of the table fails
│   └── CheckFailedError      1  the batch's rows violate a check of the table
└── SearchError               1  the index, its store or its model
    ├── IndexNotFoundError    2  nothing has been indexed yet, or there is no such version
    ├── IndexUnavailableError 1  (retryable) the store does not answer now
    ├── EmbedderUnavailableError 1 (retryable) the model's endpoint does not answer now
    └── LanguageModelError    1  (retryable) the language model for answers fails or is too slow
"""

from collections.abc import Mapping
from typing import ClassVar


class HeadwaterError(Exception):
    """Root of all errors shown to users.

    `hint` is a sentence with the next step; `retryable` is True if the same call may succeed later without
    any change.
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
    """One or more problems in the configuration; `message` holds all of them, one per line."""

    exit_code = 2


class MissingExtraError(ConfigError):
    """A section of the configuration, or a command, needs packages of an extra that is not installed.

    `hint` is the command that installs it.
    """


class UsageError(HeadwaterError):
    """A command names a table, an id or a file that does not exist."""

    exit_code = 2


class AsOfUnavailableError(UsageError):
    """The index does not reach back to that instant, or has not reached it yet.

    The message contains only the allowed instants: clients of the API see it.
    """


class InstantUnavailableError(UsageError):
    """Past states or changes of a table are incomplete; the message names the first complete instant."""


class PlatformError(HeadwaterError):
    """Java, Spark, the jars or a port are missing or unusable."""


class LakeError(HeadwaterError):
    """A Hudi table could not be read or written."""


class LakeNotWritableError(LakeError):
    """The lake's location rejects writes."""


class TableNotFoundError(LakeError):
    """No Hudi table at that path."""

    exit_code = 2


class TableBusyError(LakeError):
    """Another process is writing the table, or has held its lock for too long."""

    retryable = True


class WriteConflictError(LakeError):
    """Another writer has changed the same files since this write began; the write was rolled back."""

    retryable = True


class TableDamagedError(LakeError):
    """Files of the table are missing, truncated or unreadable: committed rows cannot be read.

    A retry does not help: restore the files, or restore or repair the table.
    """


class TableMismatchError(LakeError):
    """The table at that path was created with another key, type, partitioning or version.

    A retry does not help: change the configuration or the table.
    """


class TableUnsupportedError(LakeError):
    """The reader without a JVM cannot read this table or location; Spark can."""


class IcebergViewError(LakeError):
    """The Iceberg view of a table cannot show its newest commit. Rows of the table are never affected."""


class RunFailedError(HeadwaterError):
    """Tables or components failed during a run, whose other parts completed.

    `failures` has the last error of each, by name.
    """

    def __init__(self, failures: Mapping[str, HeadwaterError]) -> None:
        super().__init__(
            "\n".join(f"{name}: {error.message}" for name, error in failures.items()),
            hint="; ".join(dict.fromkeys(error.hint for error in failures.values() if error.hint)),
        )
        self.failures = dict(failures)


class CatalogError(HeadwaterError):
    """A catalog rejects a request, or the table cannot be synced to it. Rows are never affected."""


class CatalogConflictError(CatalogError):
    """The catalog has something else under the table's name. A retry does not help."""


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
    """Queue, topic, rule or notification conflicts with existing resources of other owners."""


class SourceUnavailableError(SourceError):
    """The source does not answer now: network, throttling, 5xx."""

    retryable = True


class ObjectError(HeadwaterError):
    """One object could not be used; `reason` is the word stored in quarantine and ledger."""

    reason: ClassVar[str] = "error"


class ObjectMissingError(ObjectError):
    """No such key or version."""

    reason = "missing"


class ObjectExpiredError(ObjectError):
    """The source removed the object before it was read: its content is lost."""

    reason = "expired"


class ObjectForbiddenError(ObjectError):
    """Access to the object is denied."""

    reason = "forbidden"


class ObjectSupersededError(ObjectError):
    """The object under the key is no longer in the state that the event named."""

    reason = "superseded"


class ObjectUnreadableError(ObjectError):
    """The bytes do not match the format or the compression."""

    reason = "unparsable"


class ObjectSchemaError(ObjectError):
    """The object's columns have types that the table's columns cannot store."""

    reason = "schema"


class ObjectTooLargeError(ObjectError):
    """The object, stored or decompressed, exceeds the limit for one object."""

    reason = "oversize"


class ObjectTooSlowError(ObjectError):
    """Parsing the object takes longer than one object may."""

    reason = "slow"


class ObjectUnavailableError(ObjectError):
    """The store did not answer after all retries."""

    reason = "unavailable"
    retryable = True


class IngestError(HeadwaterError):
    """A batch of one data table failed; its checkpoint has not moved."""


class BacklogError(IngestError):
    """A table's compactions or clusterings are too far behind: its next batch waits for them."""

    retryable = True


class RegistryUnavailableError(IngestError):
    """The schema registry does not answer now: network, throttling, 5xx."""

    retryable = True


class ObjectsChangedError(IngestError):
    """An executor ended with records it had read, and their objects have changed since."""

    retryable = True


class DefectError(IngestError):
    """An unexpected exception in a table's thread: a defect of headwater."""


class NewColumnsError(IngestError):
    """Objects have columns that the table lacks, and its mode is `fail_on_new_columns`.

    A retry does not help: change the mode or the columns.
    """


class TransformError(IngestError):
    """A transform of the table cannot be applied, or its output cannot be written.

    A retry does not help: change the transform or the objects.
    """


class CheckFailedError(IngestError):
    """The batch's rows violate a check with `on_failure: fail`.

    A retry does not help: change the objects or the check.
    """


class SearchError(HeadwaterError):
    """The index, its store or its model cannot be used."""


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
    """The language model that writes answers cannot be called, is too slow or refuses."""

    retryable = True
