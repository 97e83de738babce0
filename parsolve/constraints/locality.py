"""Which groups of ranks leave an NVLink domain, where no framework's rule forbids it.

A group lies in a block of so many consecutive ranks, its ``span``, and reaches from end to end of
it; blocks start at multiples of their span. So groups stay inside domains exactly where the span
divides the domain.
"""

from collections.abc import Mapping
from typing import Any

from parsolve.constraints.formula import Named, Term, all_of, divides, if_, largest

SUFFIX = "_crosses_domain"


def crossing(group: str, size: Term, span: Term, domain: Term) -> Named:
    """1 where some group of this kind has ranks in several NVLink domains, else 0."""
    return Named(
        f"{group}{SUFFIX}",
        if_(all_of(size > 1, ~divides(largest(1, span), domain)), 1, 0),
        about=f"1 where some {group} group leaves its NVLink domain, else 0.",
    )


def crossing_groups(known: Mapping[str, Any]) -> list[str]:
    """The kinds of groups that leave a domain, by derived quantities."""
    return [
        name.removesuffix(SUFFIX)
        for name, value in known.items()
        if name.endswith(SUFFIX) and value
    ]


PREFERENCES = {
    "tp-in-domain": f"tp{SUFFIX}",
    "cp-in-domain": f"cp{SUFFIX}",
    "ep-in-domain": f"ep{SUFFIX}",
    "pp-across-domains": "stages_in_part_of_domain",
}
"""What may be preferred above any objective, and the quantity that is 0 where it holds."""
