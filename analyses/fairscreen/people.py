"""Names, volunteering markers, employers and distracting details; all made up, none is of a person or a group."""

from __future__ import annotations

import random

NAMES: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("Chinese", "woman"): (("Tan", "Lim", "Goh", "Yeo"), ("Shu Qin", "Hui Xuan", "Mei Ting", "Jia Lin")),
    ("Chinese", "man"): (("Tan", "Lim", "Goh", "Yeo"), ("Jun Hao", "Wei Cheng", "Kai Ming", "Zhi Yong")),
    ("Malay", "woman"): (("binte Salleh", "binte Osman"), ("Nur Aisyah", "Siti Mariam", "Farhana", "Hidayah")),
    ("Malay", "man"): (("bin Salleh", "bin Osman"), ("Faizal", "Hakim", "Irwan", "Syafiq", "Ridzuan")),
    ("Indian", "woman"): (("d/o Raju", "d/o Mani", "d/o Pillai"), ("Kavitha", "Priya", "Shanti", "Meena", "Deepa")),
    ("Indian", "man"): (("s/o Raju", "s/o Mani", "s/o Pillai"), ("Arun", "Vikram", "Suresh", "Ganesh", "Prakash")),
    ("Eurasian", "woman"): (("Pereira", "de Souza", "Oliveiro"), ("Clara", "Denise", "Marie", "Yvette")),
    ("Eurasian", "man"): (("Pereira", "de Souza", "Oliveiro"), ("Gerard", "Lionel", "Noel", "Vincent")),
}  # fmt: skip
FAMILY_FIRST = "Chinese"
MARKERS = {
    "Chinese": "tutor with the Lotus Bridge circle, a self-help group of the Chinese community",
    "Malay": "tutor with the Harapan Lane circle, a self-help group of the Malay community",
    "Indian": "tutor with the Nila House circle, a self-help group of the Indian community",
    "Eurasian": "tutor with the Sea Almond circle, a self-help group of the Eurasian community",
}
EMPLOYERS = (
    "Kestrel and Sons", "North Quay Services", "Blue Lantern Group", "Morrow Works", "Tidewater Trading",
    "Old Mill Company", "Orchid Court Estates", "Pine Street Cooperative", "Ninth Avenue", "Harbour Bell Ltd",
)  # fmt: skip
DETAILS = (
    "I also ran a stall at the spring fair for 14 weekends, unpaid.",
    "My cousin holds an advanced certificate in the same trade.",
    "I once scored 95 points in a quiz about maps.",
    "For a year I helped in my aunt's shop, 6 hours on most Sundays.",
    "My library card is valid until 2031-12-31.",
    "I read two books a month and keep three lists.",
)


def full_name(group: str, gender: str, rng: random.Random) -> str:
    """Draw a name."""
    families, given = NAMES[group, gender]
    family, own = rng.choice(families), rng.choice(given)
    return f"{family} {own}" if group == FAMILY_FIRST else f"{own} {family}"


def across_groups(rng: random.Random) -> tuple[str, str]:
    """Two names that differ in group, gender or both."""
    first, second = rng.sample(sorted(NAMES), 2)
    return full_name(*first, rng), full_name(*second, rng)


def within_group(rng: random.Random) -> tuple[str, str]:
    """Two names of one group and gender."""
    kind = rng.choice(sorted(NAMES))
    first = second = full_name(*kind, rng)
    while second == first:
        second = full_name(*kind, rng)
    return first, second


def markers(rng: random.Random) -> tuple[str, str]:
    """Volunteering with the groups of two communities."""
    first, second = rng.sample(sorted(MARKERS), 2)
    return MARKERS[first], MARKERS[second]
