"""What the events of a batch mean for a table."""

from dataclasses import replace

from headwater.capture.control_events import DROP_EVENT
from headwater.ingest.planning.fold import FoldRules, fold
from headwater.ingest.planning.ledger_entry import EntryStatus, begin_state
from tests.fixtures.events import build_event, build_stored


def decide(*events, states=None):
    decisions = fold([build_stored(event, at) for at, event in enumerate(events)], states)
    return [(d.stored.event.key, d.action, d.reason) for d in decisions]


def test_created_object_is_read():
    assert decide(build_event()) == [("a/1.json", "read", None)]


def test_same_event_twice_is_read_once():
    assert decide(build_event(), build_event()) == [("a/1.json", "read", None)]


def test_only_the_last_state_of_an_unversioned_object_is_read_in_whatever_order_events_come():
    first, second = build_event(sequence=1), build_event(sequence=2)
    wanted = [("a/1.json", "skip", "superseded"), ("a/1.json", "read", None)]
    assert decide(first, second) == wanted
    assert decide(second, first) == wanted


def test_every_version_of_a_versioned_object_is_read():
    versions = [build_event(sequence=n, version_id=f"v{n}") for n in (1, 2)]
    assert [action for _, action, _ in decide(*versions)] == ["read", "read"]


def test_removal_only_supersedes_the_removed_version():
    assert decide(build_event(sequence=1), build_event(sequence=2, kind="removed")) == [
        ("a/1.json", "skip", "superseded"),
        ("a/1.json", "skip", "removal_ignored"),
    ]


def test_object_put_again_after_removal_is_read():
    events = [build_event(sequence=2, kind="removed"), build_event(sequence=3), build_event(sequence=1)]
    assert [action for _, action, _ in decide(*events)] == ["skip", "skip", "read"]


def test_tagging_does_not_supersede_content():
    assert decide(build_event(sequence=1), build_event(sequence=2, kind="tagged")) == [
        ("a/1.json", "read", None),
        ("a/1.json", "skip", "not_content"),
    ]


def test_folder_marker_is_skipped_and_an_empty_object_is_read_to_see_whether_it_still_is():
    assert decide(build_event(key="a/", size=0)) == [("a/", "skip", "folder_marker")]
    assert decide(build_event(size=0)) == [("a/1.json", "read", None)]


def test_late_event_of_an_unversioned_object_cannot_be_read_any_more():
    newest = build_event(sequence=5)
    assert newest.order_key is not None
    state = replace(
        begin_state(newest), status="ingested", order_key=newest.order_key, event_time=newest.event_time
    )
    states = {newest.object_id: state}
    assert decide(build_event(sequence=4), states=states) == [("a/1.json", "skip", "superseded")]
    assert decide(build_event(sequence=4, version_id="v4"), states=states) == [("a/1.json", "read", None)]


def test_object_in_quarantine_is_given_up_and_no_other():
    drop = replace(
        build_stored(replace(build_event(), event_name=DROP_EVENT, order_key=None)), source="listing"
    )
    state = begin_state(drop.event)
    cases: list[tuple[EntryStatus, str]] = [("quarantined", "dropped"), ("ingested", "superseded")]
    for status, reason in cases:
        for rules in (FoldRules(), FoldRules(mirrors=True)):
            (decision,) = fold([drop], {drop.event.object_id: replace(state, status=status)}, rules)
            assert (decision.action, decision.reason) == ("skip", reason)


def test_object_of_unknown_size_is_read():
    assert decide(build_event(size=None)) == [("a/1.json", "read", None)]


def test_state_observed_before_its_event_is_not_read_again():
    event = build_event(etag="abc")
    state = replace(begin_state(event), status="ingested", version="abc", looked=True)
    assert decide(event, states={event.object_id: state}) == [("a/1.json", "skip", "already_ingested")]


def test_same_content_put_again_is_new_content():
    event = build_event(etag="abc")
    state = replace(begin_state(event), status="ingested", version="abc", looked=False)
    assert decide(event, states={event.object_id: state}) == [("a/1.json", "read", None)]


def test_shorter_sequencer_is_compared_after_padding():
    import dataclasses

    from headwater.sources.object_event import build_order_key

    early = dataclasses.replace(build_event(), sequencer="0067F9", order_key=build_order_key("0067F9"))
    late = dataclasses.replace(build_event(), sequencer="0067f90001", order_key=build_order_key("0067f90001"))
    assert [d.action for d in fold([build_stored(late), build_stored(early, 1)])] == ["skip", "read"]
