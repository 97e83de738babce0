"""YAML, JSON and TOML as documents: parsed by libraries, safely, with the place of every key."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from parsolve.solver.files.document import (
    DEEPEST,
    MOST_ENTRIES,
    Document,
    Entry,
    FileProblem,
    Place,
    flattened,
)

if TYPE_CHECKING:
    from tree_sitter import Node

PLACE_IN_MESSAGE = re.compile(r" \(at line (\d+), column (\d+)\)$")


def yaml_document(name: str, text: str) -> Document | None:
    """The first document of a YAML file; None where it holds no settings by name.

    Of a key that is given twice the last one counts, as for every loader. Aliases are followed,
    but no more than `MOST_ENTRIES` settings come of them.
    """
    import yaml  # noqa: PLC0415  (most commands read no file)
    from yaml.constructor import ConstructorError  # noqa: PLC0415

    loader = None
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_node() if loader.check_node() else None
        if not isinstance(root, yaml.MappingNode):
            return None
        entries = tuple(_YamlReader(name, loader).settings(root, ()))
    except ConstructorError as error:
        raise FileProblem(name, _marked(error.problem_mark), str(error.problem)) from None
    except yaml.MarkedYAMLError as error:
        said = ", ".join(filter(None, (error.context, error.problem)))
        raise FileProblem(name, _marked(error.problem_mark), f"not YAML: {said}") from None
    except yaml.YAMLError as error:
        raise FileProblem(name, None, f"not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise FileProblem(name, None, "nested too deeply") from None
    finally:
        if loader is not None:
            loader.dispose()
    return Document(name, "yaml", entries)


def _marked(mark: Any) -> Place | None:  # noqa: ANN401  (yaml's own)
    return None if mark is None else Place(mark.line + 1, mark.column + 1)


class _YamlReader:
    """Walks the nodes of a document. Aliases may repeat them: there is a limit on the whole."""

    def __init__(self, name: str, loader: Any) -> None:  # noqa: ANN401  (yaml's own)
        self.name = name
        self.loader = loader
        self.seen = 0

    def settings(self, mapping: Any, path: tuple[str, ...]) -> Iterator[Entry]:  # noqa: ANN401
        """The settings below a mapping, in the order of the file."""
        import yaml  # noqa: PLC0415

        if len(path) > DEEPEST:
            message = f"nested more than {DEEPEST} levels deep"
            raise FileProblem(self.name, _marked(mapping.start_mark), message)
        self.loader.flatten_mapping(mapping)  # what << merges in
        for key, value in mapping.value:
            place = Place(key.start_mark.line + 1, key.start_mark.column + 1)
            self._count(place)
            if not isinstance(key, yaml.ScalarNode):
                raise FileProblem(self.name, place, "the name of a setting must be a text")
            deeper = (*path, str(key.value))
            if isinstance(value, yaml.MappingNode) and value.value:
                yield from self.settings(value, deeper)
            else:
                yield Entry(".".join(deeper), self._value(value, place), place)

    def _value(self, node: Any, place: Place) -> Any:  # noqa: ANN401  (yaml's own)
        """The value of a node; what no safe loader constructs stays the text that it is."""
        import yaml  # noqa: PLC0415

        self._count(place)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(each, place) for each in node.value]
        if isinstance(node, yaml.MappingNode):
            return {str(key.value): self._value(each, place) for key, each in node.value}
        try:
            return self.loader.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError):
            return node.value

    def _count(self, place: Place) -> None:
        self.seen += 1
        if self.seen > MOST_ENTRIES:
            raise FileProblem(self.name, place, f"more than {MOST_ENTRIES:,} settings")


def json_document(name: str, text: str) -> Document | None:
    """A JSON file; None where it is no object."""
    try:
        tree = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        place = Place(error.lineno, error.colno)
        raise FileProblem(name, place, f"not JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise FileProblem(name, None, f"not JSON: {error}") from None
    if not isinstance(tree, dict):
        return None
    places = dict(_json_places(text))
    return Document(name, "json", tuple(flattened(name, tree, _placed(places))))


def _no_number(constant: str) -> NoReturn:
    message = f"{constant} is no number"
    raise ValueError(message)


def _json_places(text: str) -> Iterator[tuple[tuple[str, ...], Place]]:
    """The path and place of every key of valid JSON, last one of a kind last."""
    decoder = json.JSONDecoder()
    line, start = 1, 0
    path: list[str | None] = []
    key: str | None = None
    for token in JSON_TOKEN.finditer(text):
        mark = token[0]
        if mark == "\n":
            line, start = line + 1, token.end()
        elif mark in "{[":
            path.append(key if mark == "{" or key is not None else None)
            key = None
        elif mark in "}]":
            path.pop()
            key = None
        elif mark == ",":
            key = None
        elif token["colon"]:
            key = decoder.decode(token["string"])
            parents = [each for each in path[1:] if each is not None]
            yield (*parents, key), Place(line, token.start() - start + 1)


JSON_TOKEN = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")(?P<colon>\s*:)?|[{}\[\],\n]')


def toml_document(name: str, text: str) -> Document:
    """A TOML file."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        if found := PLACE_IN_MESSAGE.search(message):
            place = Place(int(found[1]), int(found[2]))
        else:
            place = _end(text)
        said = message.partition(" (at ")[0]
        raise FileProblem(name, place, f"not TOML: {said}") from None
    except (RecursionError, ValueError) as error:
        raise FileProblem(name, None, f"not TOML: {error}") from None
    places = dict(_toml_places(text))
    return Document(name, "toml", tuple(flattened(name, tree, _placed(places))))


def _end(text: str) -> Place:
    last = text.rpartition("\n")[2]
    return Place(text.count("\n") + 1, len(last) + 1)


def _toml_places(text: str) -> Iterator[tuple[tuple[str, ...], Place]]:
    import tree_sitter_toml  # noqa: PLC0415  (most commands read no file)
    from tree_sitter import Language, Parser  # noqa: PLC0415

    root = Parser(Language(tree_sitter_toml.language())).parse(text.encode()).root_node
    table: tuple[str, ...] = ()
    waiting: list[tuple[tuple[str, ...], Node]] = [((), root)]
    while waiting:
        above, node = waiting.pop()
        if node.type in {"table", "table_array_element"}:
            table = _toml_path(node.named_children[0])
            waiting += [(table, child) for child in reversed(node.named_children[1:])]
        elif node.type == "pair":
            path = (*above, *_toml_path(node.named_children[0]))
            row, column = node.start_point
            yield path, Place(row + 1, column + 1)
            waiting += [(path, child) for child in reversed(node.named_children[1:])]
        elif node.type in {"document", "inline_table"}:
            waiting += [(above, child) for child in reversed(node.named_children)]


def _toml_path(node: Node) -> tuple[str, ...]:
    if node.type == "dotted_key":
        return tuple(part for child in node.named_children for part in _toml_path(child))
    text = node.text.decode() if node.text is not None else ""
    return (next(iter(tomllib.loads(f"{text} = 0"))),)


def _placed(
    places: Mapping[tuple[str, ...], Place],
) -> Callable[[tuple[str, ...]], Place]:
    return lambda path: places.get(path, Place(1, 1))
