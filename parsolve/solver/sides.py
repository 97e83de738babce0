"""A configuration as somebody gives it: a file, options, or both, each setting with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from parsolve.constraints import DEFAULT_PROFILE
from parsolve.constraints.fields import Misuse
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.document import Document
from parsolve.solver.files.format import CLUSTER, GPUS_PER_NODE, NODES, WORLD, Format
from parsolve.solver.files.judging import Asked, Facts, configured, overridden
from parsolve.solver.files.reading import Reading, Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is said of one configuration: options over what a file says.

    ``name`` is what messages call it. ``given`` are options for fields by any spelling.
    """

    name: str
    reading: Reading
    facts: Facts
    given: Mapping[str, object] = field(default_factory=dict)
    cluster: Cluster = field(default_factory=Cluster)
    model: str | None = None

    @property
    def profile(self) -> Profile:
        """Whose rules judge it."""
        return self.reading.profile

    @property
    def is_file(self) -> bool:
        """Whether a file says something."""
        return bool(self.reading.document.entries)

    @property
    def asked(self) -> Asked:
        """What options say."""
        return Asked(facts=self.facts, given=self.given, cluster=self.cluster, model=self.model)

    def config(self) -> Config:
        """The configuration. Raises `Misuse`, with the name where it has none."""
        try:
            return configured(self.reading, self.asked)
        except Misuse as error:
            text = str(error)
            if text.startswith((self.name, self.reading.document.name)):
                raise
            raise Misuse(f"{self.name}: {text}") from None

    def said(self) -> Mapping[str, Said]:
        """Settings of the file that no option replaces, by field."""
        replaced = overridden(self.reading, self.asked)
        return {of: each for of, each in self.reading.said.items() if of not in replaced}

    def own_cluster(self) -> Cluster:
        """What options and the file say of the cluster."""
        said = self.said()
        known = {of: said[of].value for of in CLUSTER if of in said and not said[of].unknown}
        file = Cluster(
            world=known.get(WORLD), nodes=known.get(NODES), gpus_per_node=known.get(GPUS_PER_NODE)
        )
        return self.cluster.over(file)

    def over(self, given: Mapping[str, object], cluster: Cluster) -> Told:
        """The same with further options, which win."""
        spellings = self.profile.spellings
        names = {spellings.get(name, name) for name in given}
        kept = {k: v for k, v in self.given.items() if spellings.get(k, k) not in names}
        return replace(self, given={**kept, **given}, cluster=cluster.over(self.cluster))


def nothing_read(name: str, profile: str = DEFAULT_PROFILE) -> Reading:
    """What no file says: options alone make the configuration."""
    format_ = Format(
        name="",
        title="options",
        kinds=frozenset({"script"}),
        profile_name=profile,
        marks=frozenset(),
    )
    return Reading(Document(name, "script", ()), format_, {}, ())
