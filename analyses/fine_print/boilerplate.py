"""The long pages around a deciding clause of a hard packet: about 800 words that decide nothing."""

from __future__ import annotations

import random

from packets import Page

WORDS = 800
_SUBJECTS = (
    "The organizer", "The sponsor", "The jury", "The help desk", "The archive office", "The prize committee",
    "The publishing partner", "The translation team",
)  # fmt: skip
_ACTS = (
    "keeps copies of all correspondence for {n} months and destroys them afterwards",
    "may publish short extracts of an entry in a printed booklet with the name of its author",
    "answers letters in the order in which they arrive and gives no advice on the merits of an entry",
    "does not return models, prints or other objects that were sent with an entry",
    "bears no cost of postage, translation, packaging or travel that an entrant may have",
    "may ask up to {n} entrants to explain in a short call how their entry was made",
    "reports once a year to its members how many entries there were in each discipline",
    "treats personal data under the law of the place where it has its seat",
    "may change the colour, format or order of its pages without notice",
    "keeps a list of the languages in which an entry may be described beside the original",
    "is not liable for delays of carriers, networks or devices that it does not control",
    "may take photographs of the closing ceremony in which visitors can be recognised",
    "asks everyone to be courteous in the forum and removes posts that are not",
    "lends up to {n} cameras to schools that ask for them before the season begins",
    "stores entries in a building that is closed to the public on weekends",
    "may show an entry in up to {n} exhibitions without a further fee",
)  # fmt: skip
_TAILS = (
    "",
    ", unless the entrant has agreed otherwise in writing",
    ", which creates no duty towards any entrant",
    ", as it has done in earlier seasons",
    ", and this clause outlasts the contest",
    ", to the extent that the law allows",
)


def padded(page: Page, seed: str) -> Page:
    """Put clauses that decide nothing around those of a page, in an order that depends on the seed alone.

    Parameters
    ----------
    page : Page
        Its clauses keep their ids; the others are numbered from Z1.
    seed : str
    """
    rng = random.Random(f"boilerplate {seed}")
    around: list[str] = []
    while sum(len(text.split()) for text in around) < WORDS:
        text = (
            f"{rng.choice(_SUBJECTS)} {rng.choice(_ACTS).format(n=rng.randrange(3, 25))}{rng.choice(_TAILS)}."
        )
        if text not in around:
            around.append(text)
    slots = sorted(rng.sample(range(1, len(around)), len(page.clauses)))
    clauses: dict[str, str] = {}
    own = iter(page.clauses.items())
    for n, text in enumerate(around):
        if n in slots:
            clauses |= dict([next(own)])
        clauses[f"Z{n + 1}"] = text
    return Page(page.name, page.title, clauses)
