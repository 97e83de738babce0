"""Why a quantity is unknown: which numbers nobody gave."""

from parsolve.constraints.evaluate import Values
from parsolve.constraints.fields import Size, Sizes
from parsolve.constraints.formula import Term, any_of, fields_of
from parsolve.constraints.profile import Profile, holds

TRIED = (1, 64, 2**8 * 5040)
"""Numbers of which one makes a quantity known that lacks nothing else: few divide none of them."""


def unsaid(profile: Profile, term: Term, values: Values) -> str:
    """What to give so that the term is known at these values."""
    lacks = [
        field
        for field in profile.fields
        if field.name in fields_of(term)
        and isinstance(field, (Size, Sizes))
        and field.default is None
        and values[profile.index_of[field.name]] is None
    ]
    known = any_of(term < 0, term >= 0)

    def settles(field: Size | Sizes) -> bool:
        place = profile.index_of[field.name]
        return any(
            holds(profile, known, (*values[:place], field.parse(number), *values[place + 1 :]))
            for number in TRIED
        )

    enough = [field for field in lacks if settles(field)]
    options = dict.fromkeys(f"--{field.flag or 'model'}" for field in enough or lacks)
    if not options:
        return "all that it is made of is given, and leaves it open, as a division with a rest does"
    return f"give {(' or ' if enough else ' and ').join(options)}"
