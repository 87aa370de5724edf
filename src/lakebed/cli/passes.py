"""What came of a pass over derived datasets, for people and for scripts."""

from __future__ import annotations

import sys

import typer

from lakebed.cli.failures import FAILED, OK
from lakebed.cli.output import harmless, say, to_json
from lakebed.cli.progress import causes_text
from lakebed.control import DeadLetter
from lakebed.runner import PassOutcome


def end_pass(outcome: PassOutcome, *, quiet: bool) -> None:
    """Tell it, and end the command: 1 if something failed for good."""
    if quiet:
        print(to_json(outcome.as_dict(), indent=2))  # noqa: T201
    else:
        tell_pass(outcome)
        say(f"derived{pass_summary(outcome) or ': nothing was due'}".replace("derived, ", "derived: "))
    raise typer.Exit(FAILED if outcome.dead else OK)


def tell_pass(outcome: PassOutcome) -> None:
    """All that needs somebody's eye; runs that are done were told as they ended."""
    if outcome.busy:
        say("derived datasets: another run is at work on them; left to that one")
    for reported in outcome.reported:
        say(f"note: {reported.dataset}: {reported.table}: {reported.what}")
    for waiting in outcome.waiting:
        where = f"{waiting.dataset} {waiting.partition or '(whole table)'}"
        say(f"waits: {where} for {', '.join(waiting.missing)}")
    for letter in outcome.dead:
        print(harmless("\n".join(dead_lines(letter))), file=sys.stderr)  # noqa: T201


def dead_lines(letter: DeadLetter) -> list[str]:
    error = letter.error
    where = error.get("where") or letter.dataset
    lines = [
        f"error: {where}: {error['what']} [{error['code']}]",
        f"  because of {causes_text(letter.causes)}",
    ]
    hint = error.get("hint") or "mend it, then `lakebed redrive`"
    return [*lines, f"  what to do: {hint}", f"  dead letter {letter.id[:12]}"]


def pass_summary(outcome: PassOutcome) -> str:
    """`, 3 partitions computed, 1 failed, 2 wait`; nothing where nothing was due."""
    done, dead = len(outcome.done), len(outcome.dead)
    told = [f"{done} partition{'' if done == 1 else 's'} computed" if done else ""]
    told += [f"{dead} failed" if dead else "", f"{len(outcome.waiting)} wait" if outcome.waiting else ""]
    return "".join(f", {one}" for one in told if one)
