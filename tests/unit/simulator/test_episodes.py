"""The simulator holds all invariants over many steps, and does the same again when asked to."""

import subprocess
import sys
from typing import Any

import pytest

from simulator.campaign import run_campaign
from simulator.exhaustive import DELIVERIES, iter_deaths, list_cases, run_case
from simulator.outside.bucket import Bucket
from simulator.outside.clock import SimulatedClock
from simulator.run import main
from simulator.scenario import Scenario, Step, StepName, build_scenario
from simulator.world import run_scenario

# What an episode is made to do often, so that rare meetings are not left to chance.
EMPHASES: tuple[tuple[StepName, ...], ...] = (
    (),
    ("remove", "drop"),
    ("race", "drop"),
    ("reconcile", "race", "drop"),
    ("fail", "crash"),
    ("remove_version",),
    ("delete", "receive", "advance"),
    ("clean", "remove"),
    ("clean", "reconcile", "race"),
    ("request", "race", "drop"),
    ("request", "remove_version", "crash"),
)


def test_all_invariants_hold_over_many_steps():
    for seed, emphasis in enumerate(EMPHASES):
        findings = run_campaign(seed, 2_500, emphasis=emphasis, shrinks=False)
        assert findings.broken is None, (findings.episode_seed, emphasis, findings.broken)


def test_no_episode_begins_when_the_time_is_over():
    assert run_campaign(1, 10**9, seconds=0).episodes == 1


@pytest.mark.long
def test_all_invariants_hold_over_a_hundred_thousand_steps():
    findings = run_campaign(1, 100_000)
    assert findings.broken is None, (findings.episode_seed, findings.broken)


@pytest.mark.long
@pytest.mark.parametrize("beside", ["put", "remove", "race", "reconcile", "crash", "fail", "replay"])
def test_cleaned_objects_are_in_every_table_and_stay(beside):
    findings = run_campaign(2, 20_000, emphasis=("clean", beside), shrinks=False)
    assert findings.broken is None, (findings.episode_seed, findings.broken)
    assert findings.counts["cleaned"] > 20


def test_everything_that_is_to_happen_does_happen():
    counts = run_campaign(3, 15_000, shrinks=False).counts
    happened = (
        *("crashes", "kills", "dropped", "duplicated", "reordered", "redelivered", "stale handles"),
        *("dead letters", "over limit", "404", "412", "races", "unavailable", "rollbacks", "archived"),
        *("failed commits", "unknown commits", "service commits", "overlapping commits"),
        *("replayed", "rubbish"),
    )
    assert [name for name in happened if not counts[name]] == []


def test_equal_seeds_have_equal_traces_and_others_have_not():
    digests = [run_scenario(build_scenario(seed)).digest for seed in (5, 5, 6)]
    assert digests[0] == digests[1] != digests[2]


def test_small_cases_hold_whatever_is_delivered_and_wherever_the_process_dies():
    for at, case in enumerate(list_cases(3)):
        # A part of all cases, spread over operations and deliveries; the others take minutes.
        if at % 211 == 0:
            for death in (case, *iter_deaths(case, every=7)):
                report = run_case(death)
                assert report.broken is None, (death, report.broken)


@pytest.mark.long
@pytest.mark.parametrize("versioning", ["off", "on"])
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_all_small_cases_hold_with_a_crash_at_every_point(delivery, versioning):
    for case in list_cases(3, (versioning,)):
        if case.delivery == delivery:
            for death in (case, *iter_deaths(case)):
                report = run_case(death)
                assert report.broken is None, (death, report.broken)


def test_sequencers_have_their_order_only_when_padded_on_the_right():
    bucket = Bucket("off", SimulatedClock())
    records: list[Any] = [bucket.put("k", b"x", salt) for salt in range(1, 60)]
    sent = [record["s3"]["object"]["sequencer"] for record in records]
    padded = [text.lower().ljust(64, "0") for text in sent]
    assert padded == sorted(padded)
    assert sent != sorted(sent)
    assert [int(text, 16) for text in sent] != sorted(int(text, 16) for text in sent)


def test_steps_may_be_left_out_of_any_scenario():
    scenario = build_scenario(11)
    for step in ("put", "deliver", "receive"):
        rest = tuple(kept for kept in scenario.steps if kept.name != step)
        assert run_scenario(scenario.with_steps(rest)).broken is None


def test_mirror_without_notifications_is_correct_after_one_reconcile():
    steps = (Step("put", 0, 5), Step("drop"), Step("put", 1, 2), Step("remove", 1), Step("drop"))
    report = run_scenario(Scenario(0, (*steps, Step("drop"))))
    assert report.broken is None
    assert report.counts["dropped"] == 3


def test_empty_object_is_superseded_by_listed_content():
    # Its content came in with the first event already; the first listing saw it while it was empty.
    puts = (Step("put", 44788, 39834), Step("put", 44232, 60069), Step("drop", 36941, 3893))
    listed = (Step("reconcile", 65205, 2020), Step("put", 35276, 40436), Step("drop", 60363, 3638))
    report = run_scenario(build_scenario(20261123035633).with_steps((*puts, *listed)))
    assert report.broken is None
    assert report.counts["dropped"] == 2


def test_listed_content_is_not_ingested_again_after_an_older_event():
    # An older event found its own content, put again meanwhile; then comes the event of what was found.
    begun = (Step("put", 60813, 42883), Step("reconcile", 50952, 50230), Step("deliver", 0, 30285))
    found = (Step("receive", 746, 56768), Step("reconcile", 61441, 37194), Step("put", 50615, 40634))
    older = (Step("reconcile", 29509, 30222), Step("ingest", 7185, 39584), Step("commit", 12404, 13745))
    again = (Step("put", 59364, 55459), Step("ingest", 5897, 54464), Step("put", 37091, 26306))
    scenario = build_scenario(20261123045027).with_steps((*begun, *found, *older, *again))
    assert run_scenario(scenario).broken is None


def test_dead_letters_are_put_back_before_old_messages_count_as_known():
    # The first version's message dies while the process sleeps; nothing else tells an append table of it.
    first = (Step("put", 36306, 25634), Step("rubbish", 17164, 31097), Step("receive", 16205, 39228))
    sleeps = (Step("advance", 12029, 8638), Step("receive", 47541, 43223), Step("advance", 21913, 30707))
    again = (Step("receive", 14681, 43560), Step("fail", 40637), Step("stop"), Step("put", 59890, 27331))
    report = run_scenario(build_scenario(20261122006331).with_steps((*first, *sleeps, *again)))
    assert report.broken is None
    assert report.counts["dead letters"] == 1


def test_command_reports_the_run_and_how_to_reproduce_failures(capsys):
    assert main(["--seed", "4", "--steps", "300"]) == 0
    assert "all invariants hold" in capsys.readouterr().out
    assert main(["--seed", "4", "--steps", "5000", "--bug", "delete_before_commit"]) == 1
    shown = capsys.readouterr().out
    assert "BROKEN I3" in shown
    episode = shown.split("EPISODE=")[1].split()[0]
    assert main(["--episode", episode, "--bug", "delete_before_commit"]) == 1


def test_nothing_of_it_needs_spark():
    code = "import sys, simulator.run; print({'pyspark', 'boto3', 'py4j'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_version_found_by_looking_and_deleted_unnoticed_is_found_by_the_listing():
    begun = (Step("put", 1368, 8031), Step("deliver", 61592, 51324), Step("receive", 20998, 6086))
    found = (Step("put", 14016, 33624), Step("commit", 60496, 53871), Step("ingest", 41489, 42787))
    lost = (Step("remove_version", 46096, 50781), Step("drop", 20462, 17478), Step("drop", 38651, 14796))
    report = run_scenario(build_scenario(60967597002006).with_steps((*begun, *found, *lost)))
    assert report.broken is None


def test_object_found_absent_and_restored_unnoticed_is_found_by_the_listing():
    # The delete marker and its removal are both lost; the mirror read the key in between.
    first = (Step("put", 4587, 59776), Step("deliver", 51599, 11540), Step("receive", 64481, 20508))
    second = (Step("commit", 4048, 40054), Step("ingest", 7156, 20495), Step("put", 24974, 14670))
    marked = (Step("deliver", 44050, 30006), Step("receive", 47198, 5267), Step("remove", 23680, 65084))
    absent = (Step("commit", 43060, 43207), Step("ingest", 51318, 22641))
    lost = (Step("remove_version", 35160, 35537), Step("drop", 50849, 58247), Step("drop", 45465, 42575))
    scenario = build_scenario(60967597001962).with_steps((*first, *second, *marked, *absent, *lost))
    assert run_scenario(scenario).broken is None


def test_listing_is_read_although_a_deleted_version_had_the_same_bytes():
    begun = (Step("put", 44138, 45632), Step("deliver", 1032, 16807), Step("receive", 25911, 60964))
    again = (Step("put", 36279, 30020), Step("commit", 63477, 57351), Step("ingest", 51184, 42030))
    found = (Step("drop", 38785, 57271), Step("reconcile", 59384, 52148), Step("reconcile", 27719, 25300))
    older = (Step("ingest", 978, 63342), Step("commit", 26382, 42236), Step("remove_version", 24982, 3268))
    scenario = build_scenario(60967597002260).with_steps((*begun, *again, *found, *older, Step("drop", 1782)))
    assert run_scenario(scenario).broken is None


def test_bytes_put_several_times_around_a_repair_are_there_once_for_each_put():
    begun = (Step("put", 59647, 15679), Step("request", 5251, 10521), Step("deliver", 0, 17488))
    again = (Step("put", 34624, 14277), Step("receive", 64167, 25061), Step("put", 60932, 957))
    waits = (Step("commit", 42367, 17921), Step("advance", 56339, 49449), Step("put", 62237, 30713))
    found = (Step("ingest", 18823, 12269), Step("put", 62201, 20071), Step("ingest", 10247, 7887))
    scenario = build_scenario(83299141000410).with_steps((*begun, *again, *waits, *found))
    assert run_scenario(scenario.with_steps((*scenario.steps, Step("put", 55297, 48977)))).broken is None
