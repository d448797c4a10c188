"""Bugs that can be switched on to test the simulator: each one that goes undetected shows a missing check."""

BUGS: dict[str, str] = {
    # capture
    "delete_before_commit": "messages are deleted before the commit of their events",
    "ack_on_parse": "messages are deleted as soon as they are parsed",
    "rejects_after_delete": "what cannot be parsed is written to quarantine after its message is deleted",
    "rejects_forgotten": "what cannot be parsed is acknowledged and nowhere kept",
    "poison_fails_batch": "one message that cannot be parsed fails the batch it came in",
    "first_handle_used": "a message is deleted with the handle of its first delivery, not of its newest",
    "key_decoded_twice": "the key is decoded once more after parsing",
    "key_not_decoded": "the key is taken as it stands in the notification",
    "event_bus_decoded": "keys are decoded whatever the sender, also those that come raw",
    "sequencer_not_padded": "sequencers are compared as numbers, not padded on the right",
    "sequencer_case_kept": "sequencers are compared without regard to upper and lower case digits",
    "duplicates_not_refused": "the events table takes an event that it already has",
    "ids_not_loaded": "after a restart the events table does not know which events it has",
    "ids_kept_after_failure": "after a failed commit the events table does not look what it holds now",
    # reading events
    "checkpoint_is_last": "the checkpoint is that of the event decided last, not of the newest",
    "checkpoint_of_whole_commit": "a batch that ends inside a commit says that it took the whole commit",
    "checkpoint_apart": "the checkpoint is committed before the rows, on its own",
    "position_by_request": "events are read in the order in which their commits were requested",
    "position_kept_after_crash": "a restart goes on where the dead process was, not at the checkpoint",
    "archived_events_skipped": "a table that slept too long reads only the active timeline",
    # deciding
    "late_event_applied": "what was applied before is not asked for: a late event is applied",
    "order_of_arrival": "events of one object are applied as they come, not by order key",
    "removal_believed": "a removal retracts the rows, and nobody reads what is stored under the key now",
    "listing_wins": "an event from a listing goes before any real event",
    "named_version_ignored": "what lies under the key is read, whatever version the event names",
    "superseded_not_looked": "an object that is not what its event names is passed over without a look",
    "request_adds_rows": "a repair or a retry ingests content that the table or the batch has already",
    "missing_not_retracted": "an object that is gone when it is read keeps its rows",
    "looked_not_noted": "content found by looking counts as that of its event",
    "looked_not_confirmed": "content found by looking stays unconfirmed when its own event comes",
    "looked_not_kept": "after a restart nobody remembers that content was found by looking",
    "time_of_look_forgotten": "what was so before a look or a listing counts as newer than what that found",
    # Two mistakes of an older fold, which only ten million steps found.
    "empty_forgets_found": "an object found empty hides that content was found by reading before",
    "named_forgets_found": "content that its own event names hides that a read or a listing found it later",
    "kept_rows_not_noted": "content whose rows are there already does not become what counts",
    # writing
    "shrunk_object_keeps_rows": "an overwrite leaves the rows behind that the new content does not have",
    "empty_object_keeps_rows": "an object overwritten with nothing keeps its rows",
    "retraction_apart": "retracted rows go in a commit after the one with the new rows",
    "rejects_after_commit": "unusable objects are written to quarantine after the data commit",
    "ledger_before_commit": "the ledger is written before the rows",
    "catch_up_skipped": "after a crash the ledger is not brought up to the commits",
    "stale_copy_used": "a machine continues with its copy of the ledger as it was when another one took over",
    "outcomes_not_carried": "a commit carries no outcomes of batches that made no rows",
    "state_kept_after_failure": "after a failed commit the table does not look what it holds now",
    # clean_source
    "cleaned_before_announced": "an object is taken away, and no event says beforehand by whom",
    "changed_object_cleaned": "an object is taken away without another look at what lies there",
    "one_table_is_enough": "an object is taken away when one of its tables has it",
    "cleaning_unknown": "a table that has read its own removal follows the removal all the same",
    # reconcile
    "vanished_not_told": "a reconcile tells of new objects, not of vanished ones",
    "seen_not_asked": "a reconcile forgets what only a table has seen",
    "listing_of_known": "a reconcile compares sizes only",
}
"""Name -> the bug."""

Bugs = frozenset[str]
NO_BUGS: Bugs = frozenset()
