"""Which base files a batch may rewrite to add its rows. Pure."""

LEAST_BYTES = 4 * 1024 * 1024
MOST_BYTES = 100 * 1024 * 1024
_TIMES_THE_BATCH = 16


def choose_small_file_limit(batch_bytes: int) -> int:
    """Return the size in bytes below which a base file receives rows of a batch of about `batch_bytes`.

    Hudi rewrites a file to add rows to it. With its fixed limit of 100 MB, each commit of ten rows would in
    time rewrite half a million: docs/decisions/0035-small-files.md.
    """
    return max(LEAST_BYTES, min(_TIMES_THE_BATCH * batch_bytes, MOST_BYTES))
