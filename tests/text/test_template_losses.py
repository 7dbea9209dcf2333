"""The templates in the ledger: the most costly, whatever the order in which they were met, in bounded memory."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.text.template_losses import IN_LEDGER, forget_rare, most_costly

NAMES = st.dictionaries(st.text(max_size=3), st.integers(1, 5), max_size=30)


@given(NAMES, st.integers(0, 10), st.randoms(use_true_random=False))
def test_the_most_frequent_stay_and_ties_go_by_name(losses: dict[str, int], number: int, random: object) -> None:
    counts = Counter({f"templates:{name}": times for name, times in losses.items()} | {"pages:articles": 1})
    shuffled = list(counts.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    other = Counter(dict(shuffled))
    forget_rare(counts, number)
    forget_rare(other, number)
    best = sorted(losses, key=lambda name: (-losses[name], name))[:number]
    assert counts == other == {"pages:articles": 1} | {f"templates:{name}": losses[name] for name in best}


def test_the_ledger_has_the_most_costly_first() -> None:
    losses = most_costly({f"template {number:03}": number // 2 for number in range(200)})
    assert len(losses) == IN_LEDGER
    assert list(losses.items())[:3] == [("template 198", 99), ("template 199", 99), ("template 196", 98)]
