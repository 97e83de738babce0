"""What the framework's documents say of the rules, where that is not so."""

from __future__ import annotations

from parsolve.cli.matrix.configs import options
from parsolve.cli.matrix.markdown import code, marked, prose, table
from parsolve.constraints.claim import Claim
from parsolve.constraints.profile import Profile
from parsolve.constraints.rule import Source


def untrue_claims(profile: Profile) -> list[str]:
    """Sentences that the rules contradict, each with a configuration and with what is true."""
    by_id = {claim.id: claim for claim in profile.claims}
    untrue = [claim for claim in profile.claims if not claim.holds]
    if not untrue:
        return []
    held = len(profile.claims) - len(untrue)
    return [
        prose(
            profile,
            f"{held} sentences of the framework's guide, documents and messages hold for every "
            "cluster: `parsolve prove claims --verbose` lists and proves them. These do not hold "
            "as they are said.",
        ),
        table(
            ("Sentence", "Where", "Fails at", "What is true"),
            (_row(profile, claim, by_id[claim.truth]) for claim in untrue),
        ),
    ]


def _row(profile: Profile, claim: Claim, truth: Claim) -> tuple[str, ...]:
    shown = options(profile.config(claim.fails_at)) if claim.fails_at else "-"
    return (
        marked(profile, claim.says),
        _where(profile, claim.source),
        shown,
        marked(profile, truth.says),
    )


def _where(profile: Profile, source: Source) -> str:
    """The document and its part; a file of code as code."""
    file = code(source.file) if "/" in source.file else source.file
    return f"{file}, {marked(profile, source.function)}"
