"""A configuration as somebody gives it: a file, options, or both, each setting with its origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, TypeAlias

from parsolve.constraints import DEFAULT_PROFILE
from parsolve.constraints.fields import FieldError, Misuse
from parsolve.constraints.profile import Config, Profile
from parsolve.solver.compare import known_as
from parsolve.solver.files.cluster import Cluster
from parsolve.solver.files.document import Document
from parsolve.solver.files.format import Format
from parsolve.solver.files.judging import Asked, Facts, cluster_of, configured, overridden
from parsolve.solver.files.reading import Reading, Said, contents, read

Model: TypeAlias = str | PathLike[str] | Mapping[str, Any] | None
"""A model by name, by the path of its configuration, or by what that holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is said of one configuration: options over what a file says.

    ``name`` is what messages call it. ``given`` are options for fields by any spelling,
    ``model`` is one that an option names, of which the facts are whatever the file says.
    """

    name: str
    reading: Reading
    facts: Facts
    given: Mapping[str, object] = field(default_factory=dict)
    cluster: Cluster = field(default_factory=Cluster)
    model: Model = None

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
        return Asked(
            facts=self.facts,
            given=self.given,
            cluster=self.cluster,
            replaces_model=self.model is not None,
        )

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
        return self.cluster.over(cluster_of(self.said()))

    def over(self, given: Mapping[str, object], cluster: Cluster) -> Told:
        """The same with further options, which win."""
        spellings = self.profile.spellings
        names = {spellings.get(name, name) for name in given}
        kept = {k: v for k, v in self.given.items() if spellings.get(k, k) not in names}
        return replace(self, given={**kept, **given}, cluster=cluster.over(self.cluster))

    def with_fields(self, fields: Mapping[str, object]) -> Told:
        """The same with further fields by any spelling, the world among them.

        Raises `FieldError`.
        """
        profile, given = self.profile, dict(fields)
        world = next((k for k in given if profile.spellings.get(k) == profile.world), None)
        size = None if world is None else profile.field_of[profile.world].parse(given.pop(world))
        return self.over(given, Cluster(world=size if isinstance(size, int) else None))


def known_to(side: Told, given: Mapping[str, object], sides: Sequence[Told]) -> dict[str, object]:
    """Options that hold for all sides, by the fields of this one; what it has no word for is left.

    Raises `FieldError` for one that no side has a word for.
    """
    taken: dict[str, object] = {}
    for word, value in given.items():
        found = known_as(side.profile, word, value)
        if found is not None:
            taken[found.name] = value
        elif all(known_as(each.profile, word, value) is None for each in sides):
            names = " and ".join(dict.fromkeys(each.profile.name for each in sides))
            message = f"{word} is nothing of {names}; leave it out"
            raise FieldError(message)
    return taken


def of_fields(
    name: str,
    fields: Mapping[str, object],
    profile: Profile,
    facts: Facts,
    model: Model = None,
) -> Told:
    """A configuration of fields by any spelling, the world among them. Raises `FieldError`."""
    told = Told(name=name, reading=nothing_read(name, profile.name), facts=facts, model=model)
    return told.with_fields(fields)


def of_file(path: str, profile: str | None, facts: Facts, model: Model = None) -> Told:
    """A configuration of a file. Raises `FileProblem`."""
    return Told(name=path, reading=read(path, contents(path), profile), facts=facts, model=model)


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
