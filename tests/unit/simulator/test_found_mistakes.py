"""Mistakes of the decisions that long runs found, each in the fewest steps that showed it."""

import re

import pytest

from simulator.scenario import Step, build_scenario
from simulator.world import run_scenario

MISTAKES = {
    "content that was put again kept the time of its first event in a merge": (
        101000223,
        """
        race(33142, 51727) race(47780, 19638) put(18689, 38676) put(30084, 23733) put(3051, 29349)
        put(35311, 49967) put(59785, 44487) race(46810, 40562) deliver(30627, 48645) receive(41586, 38693)
        put(26005, 10431) commit(17492, 63747) deliver(0, 41636) drop(18220, 52397) deliver(0, 7339)
        deliver(8018, 49885) ingest(34610, 30449) ingest(64999, 13803) deliver(17099, 60163)
        request(44102, 36266) race(45502, 21145) put(17329, 61494) deliver(0, 45439) ingest(51045, 10124)
        put(6066, 47234) deliver(0, 23048) drop(21011, 40830)
        """,
    ),
    "rows that a late request brought into a merge stayed older than those it had replaced": (
        96000150,
        """
        request(10037, 46166) race(36857, 8980) ingest(40700, 40540) race(57053, 6727) request(47905, 31185)
        ingest(5908, 49324) drop(52861, 49922)
        """,
    ),
    "a request took an object out of quarantine that the same batch had just put there": (
        11000006,
        "request(14025, 56258) put(37256, 65107) put(23997, 52859)",
    ),
    "a listing that began before content was put removed what a request had found since": (
        14000975,
        """
        put(39997, 59807) deliver(0, 8484) receive(48487, 1266) put(53603, 55500) race(43237, 37545)
        stop(30597, 10851) ingest(55437, 1247) deliver(0, 48244) receive(38669, 42306)
        reconcile(6062, 30314) reconcile(55577, 24548) put(32293, 53407) commit(19751, 5632)
        request(28181, 64979) reconcile(26587, 24662)
        """,
    ),
    "the retry of a version counted as a look, and the removal before it as older": (
        202003734,
        """
        remove(20580, 2119) put(878, 43862) remove(10404, 59452) deliver(0, 14103) race(54323, 44747)
        remove(13665, 36666) deliver(55927, 12613) deliver(0, 43368) put(62052, 40519) drop(14936, 4267)
        duplicate(5924, 18544) receive(46468, 42359) commit(59711, 2661) ingest(35902, 51576)
        put(37261, 27745) ingest(35414, 23983) deliver(63272, 21218) ingest(15130, 60958)
        delete(42406, 58949) request(31021, 31854) ingest(24724, 11925) put(36583, 61449)
        commit(599, 63658) ingest(5982, 32408) put(46655, 52991) ingest(7806, 32783)
        remove(53321, 59699) request(46679, 1078)
        """,
    ),
    "content without rows that was found twice in a batch made its own event old": (
        101001725,
        """
        remove(23027, 49713) put(33090, 34118) put(15223, 16673) request(17344, 384) tag(8611, 36214)
        put(21529, 58488) deliver(26603, 49088) put(23661, 15659) duplicate(47058, 28678)
        receive(51976, 39480) put(8002, 32302) request(29035, 27736)
        """,
    ),
    "the retry of an old version replaced the newer content that a request had found": (
        402000849,
        """
        race(18052, 43283) request(32146, 13593) ingest(34892, 24619) deliver(0, 8892)
        receive(61705, 38456) race(51246, 16679) put(30978, 10304) race(28324, 19322)
        commit(48428, 62894) ingest(23387, 24002) put(54556, 47238) request(29672, 34655)
        put(31150, 23086) request(29852, 7729) request(48931, 34895) request(61508, 25500)
        """,
    ),
    "content that was not to be had at first, and then put again and again, was never ingested": (
        601012601,
        """
        race(13488, 41629) race(9795, 42151) crash(52656, 28668) race(34845, 39886) fail(23728, 18267)
        put(38236, 44587) save(35880, 40232) deliver(6106, 64710) tag(53361, 83) receive(44543, 38595)
        commit(37184, 11717) deliver(0, 38715) receive(15491, 5012) put(55877, 39163)
        commit(31142, 29094) put(35084, 2302) deliver(31151, 23123) duplicate(54242, 5733)
        receive(9312, 37978) commit(50085, 28793) ingest(22293, 54558) put(59775, 31807)
        """,
    ),
    "a listing of bytes that an older version has too was skipped, and the version put since counted": (
        31000495,
        """
        put(43986, 47612) remove(25432, 64788) put(26234, 49935) remove(39633, 56042)
        deliver(46693, 53424) deliver(0, 55792) remove(32883, 25290) put(43902, 59963)
        deliver(0, 59373) put(7025, 51112) put(54645, 27255) remove_version(64385, 59793)
        remove(26771, 1611) deliver(0, 7464) remove_version(14998, 28570) put(10104, 27393)
        remove(32863, 37054) put(38013, 34292) deliver(0, 38160) remove(53559, 57237)
        deliver(61993, 29633) put(56625, 18019) deliver(43854, 42901) deliver(16652, 28655)
        remove(31460, 45822) put(52776, 45128) receive(20566, 49001) put(45544, 62421)
        deliver(11770, 11065) put(35830, 6060) deliver(11486, 44697) deliver(0, 58751) deliver(0, 3437)
        deliver(0, 33168) drop(33437, 36309) commit(42078, 32023) delete(32306, 44764)
        reconcile(60789, 45944) reconcile(13541, 28089) reconcile(45307, 21106)
        """,
    ),
    "a listing of bytes that an older version of its batch has too was never read": (
        32000746,
        """
        put(49701, 51385) put(37377, 31142) deliver(37780, 3728) duplicate(22244, 13790)
        drop(56573, 43970) put(7379, 24133) drop(1596, 12492) reconcile(20936, 9301)
        reconcile(12448, 63522) reconcile(31195, 32981)
        """,
    ),
    "attempts during an outage of the store counted against one of its objects": (
        20261124001992,
        """
        outage(30577, 18219) put(25482, 38333) deliver(55411, 23966) receive(30998, 93) commit(8776, 30612)
        ingest(22489, 41354) put(29916, 13838) ingest(60167, 20873) deliver(0, 4639) receive(35357, 15433)
        outage(62281, 41718) commit(21844, 29753) ingest(29772, 53668) ingest(62017, 8620)
        """,
    ),
    "a version that was deleted while the listed one was read hid the listed one": (
        20261124032414,
        """
        put(11913, 14218) deliver(0, 26) put(37607, 1319) deliver(0, 47800) receive(30013, 25105)
        remove_version(51163, 58048) race(5399, 23671) race(57137, 33550) race(21831, 35438)
        race(63639, 22652) deliver(0, 47313) put(17050, 6007) commit(22107, 23378) ingest(33836, 47707)
        ingest(18878, 65074) put(2771, 57685) put(43598, 9391) tag(42458, 26144) deliver(0, 4942)
        deliver(0, 10050) drop(54951, 24546) drop(34235, 38938) deliver(0, 34356) deliver(61394, 37479)
        reconcile(52279, 811) put(31269, 4823) put(21510, 21960) race(7325, 30118) race(38349, 11380)
        drop(55173, 22848) ingest(47527, 12211) deliver(0, 57658) ingest(34075, 36584) put(34823, 4636)
        ingest(10663, 18603) deliver(27882, 39208) deliver(55976, 52019) put(20506, 12560)
        drop(64294, 34077) remove_version(26867, 46774)
        """,
    ),
    "a mirror kept a version that was put and deleted without notifications after a listing": (
        20261124032414,
        """
        put(0, 5) drop(0, 0) advance(200, 0) reconcile(4, 1) reconcile(4, 1) reconcile(4, 1) put(0, 6)
        drop(0, 0) ingest(0, 0) ingest(0, 0) remove_version(0, 1) drop(0, 0)
        """,
    ),
    "an object that only a request had found was kept when its removal was lost, too": (
        20261124059234,
        """
        request(41387, 42970) race(2851, 39193) ingest(38035, 11672) drop(63619, 41054)
        ingest(7124, 11881) remove(47979, 9163) drop(4675, 56935)
        """,
    ),
    "a listing of bytes that an event older than the state names was never read": (
        20261124071520,
        """
        put(46115, 65459) put(15766, 56301) put(22332, 61855) put(15748, 54264) tag(29858, 41077)
        reconcile(50790, 5264) duplicate(23618, 9562) reconcile(35149, 14988) put(1466, 22538)
        put(53853, 15173) duplicate(58690, 32993) deliver(0, 63794) deliver(0, 4109) deliver(2509, 3512)
        deliver(21266, 29647) receive(41080, 2065) race(3540, 53359) reconcile(37608, 19545)
        drop(36862, 61285) ingest(12523, 4712) drop(18293, 29331) kill(46525, 55715)
        reconcile(46780, 58276) reconcile(61838, 40293)
        """,
    ),
    "a listing of bytes that were put again stood for the older version of its batch": (
        242400953002963,
        """
        put(60752, 25548) reconcile(16272, 44833) put(19800, 9358) put(26519, 46380) put(15519, 53565)
        deliver(0, 244) reconcile(58803, 60286) deliver(0, 5732) reconcile(51921, 52188)
        deliver(0, 39478) put(10689, 7782) deliver(0, 30884) deliver(46423, 51552) put(56044, 57878)
        put(38413, 49467) put(44456, 2252) put(2111, 36675) put(3727, 65205) reconcile(8963, 37210)
        put(18207, 26766) put(8043, 49562) rubbish(19567, 117) put(34214, 21459) receive(38446, 10858)
        deliver(6737, 24060) put(16178, 31446) deliver(43956, 46535) deliver(15116, 35213)
        deliver(0, 2248) deliver(57274, 1777) commit(8088, 53404) deliver(0, 57139) deliver(27120, 5249)
        receive(15718, 32997) deliver(0, 30138) deliver(0, 52330) put(45969, 45252) commit(11281, 43007)
        put(7341, 22842) reconcile(23543, 59174) delete(59029, 19463) deliver(29782, 53058)
        drop(36892, 60902)
        """,
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_found_bugs_stay_fixed(mistake):
    episode, text = MISTAKES[mistake]
    steps = tuple(Step(name, int(a), int(b)) for name, a, b in re.findall(r"(\w+)\((\d+), (\d+)\)", text))
    assert run_scenario(build_scenario(episode).with_steps(steps)).broken is None
