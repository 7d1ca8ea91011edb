"""Easy packets about facts: who may enter, what is missing, when a prize is paid."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from clock import spoken_date, utc
from easy_pages import FILL, page
from engine import Need, Test, all_met, missing
from packets import Packet, Page, Ruling


def eligibility() -> list[Packet]:
    """Residence, employer and age of majority."""
    rules = page(
        "rules",
        S1="An entrant must live in a member state.",
        S2="Nobody who works for the sponsor or a company that it owns may enter.",
        S3="An entrant must have reached the age of majority where they live.",
    )
    places = page(
        "guide",
        G1="Member states are Arden, Boro and Cale.",
        G2="In Boro the age of majority is 19, elsewhere 18.",
    )
    cases: list[
        tuple[tuple[str, str, str], tuple[bool | None, bool | None, bool | None], tuple[Any, ...]]
    ] = [
        (("Ivo lives in Boro.", "Ivo works for a bakery.", "Ivo is 18."), (True, True, False), (True, None)),
        (
            ("Mara is 34.", "Mara works for a school.", "Mara travels all year round."),
            (None, True, True),
            (True, False),
        ),
        (
            ("Tess lives in Cale.", "Tess works for a mill that the sponsor owns.", "Tess is 40."),
            (True, False, True),
            (True, None),
        ),
        (("Ned lives in Arden.", "Ned works for the town.", "Ned is 18."), (True, True, True), (False, None)),
        (
            ("Olga lives in Delve.", "Olga works for herself.", "Olga is 27."),
            (False, True, True),
            (True, None),
        ),
    ]
    made = []
    for n, (facts, met, lures) in enumerate(cases, start=1):
        ruling = all_met([Test(clause, one) for clause, one in zip(("S1", "S2", "S3"), met, strict=True)])
        ruling = _with_places(ruling)
        made.append(
            Packet(
                f"elig_{n:02}",
                "eligibility",
                (rules, places),
                f"May {facts[0].split()[0]} enter?",
                "boolean",
                ruling,
                lures,
                frozenset({"G1"}),
                facts,
                twist="facts",
            )
        )
    return made


def _with_places(ruling: Ruling) -> Ruling:
    """Add the page that says what residence and majority mean, where the evidence needs it."""
    means = {"S1": "G1", "S3": "G2"}
    if ruling.value is None:
        return ruling
    return Ruling(ruling.value, tuple(s | {means[c] for c in s if c in means} for s in ruling.evidence))


def submission_artifacts() -> list[Packet]:
    """Conditional requirements, drafts and private repositories."""
    rules = page(
        "rules",
        S1="Every entry needs a video.",
        S2="Every entry needs a repository that anyone can open.",
        S3="Every entry needs a published post; a draft is no post.",
        S4="An entry that uses licensed data also needs a license file.",
    )
    faq = page("faq", F1=FILL["faq"], F2="Most entries are complete.")
    cases: list[tuple[tuple[str, ...], tuple[bool | None, ...], bool | None, tuple[Any, ...]]] = [
        (
            (
                "The video is online.",
                "The repository is private.",
                "The post is a draft.",
                "No licensed data is used.",
            ),
            (True, False, False, False),
            False,
            (["post"], ["repository"]),
        ),
        (
            (
                "The video is online.",
                "Anyone can open the repository.",
                "The post is published.",
                "Licensed data is used and there is no license file.",
            ),
            (True, True, True, False),
            True,
            ([], None),
        ),
        (
            (
                "There is no video.",
                "Anyone can open the repository.",
                "The post is a draft.",
                "No licensed data is used.",
            ),
            (False, True, False, False),
            False,
            (["video"], ["license file", "video"]),
        ),
        (
            (
                "The video is online.",
                "The repository exists; who can open it is not told.",
                "The post is published.",
                "No licensed data is used.",
            ),
            (True, None, True, False),
            False,
            ([], ["repository"]),
        ),
        (
            (
                "There is no video.",
                "The repository is private.",
                "The post is published.",
                "Licensed data is used and the license file is there.",
            ),
            (False, False, True, True),
            True,
            (["video"], ["post", "video"]),
        ),
    ]
    names = ("video", "repository", "post", "license file")
    made = []
    for n, (facts, given, licensed, lures) in enumerate(cases, start=1):
        due = (True, True, True, licensed)
        needs = [Need(f"S{k + 1}", names[k], due[k], given[k]) for k in range(4)]
        made.append(
            Packet(
                f"art_{n:02}",
                "submission_artifacts",
                (rules, faq),
                f"Which required artifacts are missing? Choose among {', '.join(names)}.",
                "set",
                missing(needs),
                lures,
                frozenset({"F2"}),
                facts,
                twist="facts",
            )
        )
    return made


def notification_payout() -> list[Packet]:
    """The first attempt against receipt, forfeits, and a form that nobody dates."""
    made = []

    def add(
        rules: Page,
        question: str,
        kind: str,
        ruling: Ruling,
        lures: tuple[Any, ...],
        facts: tuple[str, ...],
        **more: Any,
    ) -> None:
        faq = page("faq", F1="You have time until you have read our email.", F2=FILL["faq"])
        made.append(
            Packet(
                f"payout_{len(made) + 1:02}", "notification_payout", (rules, faq), question, kind, ruling, lures,
                frozenset({"F1"}), facts, **more,
            )
        )  # fmt: skip

    above = "On notices and payment these Rules govern over every other page."
    attempt, read = date(2026, 7, 6), date(2026, 7, 11)
    told = (
        f"The first attempt to notify was on {spoken_date(attempt)}.",
        f"The winner read the email on {spoken_date(read)}.",
    )
    due = [(start + timedelta(days=30)).isoformat() for start in (attempt, read)]
    add(
        page(
            "rules",
            R1=above,
            R2="The prize is paid 30 calendar days after the first attempt to notify the winner.",
        ),
        "On which date is the prize due?",
        "date",
        Ruling(due[0], (frozenset({"R1", "R2"}),)),
        (due[1], None),
        told,
        twist="facts",
    )
    due = [(start + timedelta(days=14)).isoformat() for start in (attempt, read)]
    add(
        page(
            "rules",
            R1=above,
            R2="Whatever other pages say, the claim form is due 14 calendar days after the first attempt "
            "to notify the winner.",
        ),
        "On which date is the claim form due?",
        "date",
        Ruling(due[0], (frozenset({"R1", "R2"}), frozenset({"R2"}))),
        (due[1], None),
        told,
        keys_as_run=(frozenset({"R1", "R2"}),),
    )
    first, reply = datetime(2026, 8, 3, 10, 0), datetime(2026, 8, 6, 12, 0)
    add(
        page(
            "rules",
            R1=above,
            R2="A prize is lost unless the winner replies within 72 hours of the first attempt to notify.",
        ),
        "Is the prize lost?",
        "boolean",
        Ruling(reply - first > timedelta(hours=72), (frozenset({"R1", "R2"}),)),
        (False, None),
        (
            f"The first attempt to notify was at {utc(first)}.",
            "The winner read the email two days later.",
            f"The winner replied at {utc(reply)}.",
        ),
        twist="facts",
    )
    prize, rate = 2400, 25
    add(
        page(
            "rules",
            R1=above,
            R2=f"From prizes above 1000 dollars {rate} percent are withheld.",
            R3="Smaller prizes are paid in full.",
        ),
        "How many dollars are paid out?",
        "number",
        Ruling(prize - prize * rate // 100, (frozenset({"R2"}),)),
        (prize, None),
        (f"The prize is {prize} dollars.", "The winner asked for a transfer."),
        twist="about",
    )
    add(page("rules", R1=above, R2="The prize is paid 20 calendar days after the tax form was received."),
        "On which date is the prize due?", "date", Ruling(None, (frozenset({"R2"}),)), ("2026-07-26", "2026-07-31"),
        (told[0], "The tax form was received; the day was not noted."), twist="facts")  # fmt: skip
    return made
