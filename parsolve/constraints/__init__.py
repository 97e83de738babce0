"""What must hold: the rule language and the rules of each training framework."""

from parsolve.constraints.generic import GENERIC
from parsolve.constraints.halo import HALO
from parsolve.constraints.profile import Profile

DEFAULT_PROFILE = HALO.name

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (HALO, GENERIC)}
