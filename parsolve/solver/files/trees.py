"""YAML, JSON and TOML as documents: parsed by libraries, safely, with the place of every key."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

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
    """A YAML file of one document; None where it holds no settings by name.

    Several documents raise `FileProblem`, as loaders of configurations do. Of a key that is given
    twice the last one counts, as for every loader. Aliases are followed, but no more than
    `MOST_ENTRIES` settings come of them.
    """
    import yaml  # noqa: PLC0415  (most commands read no file)
    from yaml.constructor import ConstructorError  # noqa: PLC0415

    loader = None
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_node() if loader.check_node() else None
        if (more := loader.get_node() if loader.check_node() else None) is not None:
            message = "several YAML documents, where a framework loads one"
            place = _marked(more.start_mark)
            raise FileProblem(name, place, f"{message}: give each a file of its own")
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
                span = value.start_mark.index, value.end_mark.index
                yield Entry(".".join(deeper), self._value(value, place), place, span=span)

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
    """A JSON file; None where it is no object.

    Of a key that is given twice the last one counts; NaN and infinities stay the text that they
    are, as Python reads them and no setting of sizes does.
    """
    try:
        tree = json.loads(text, parse_constant=str)
    except json.JSONDecodeError as error:
        place = Place(error.lineno, error.colno)
        raise FileProblem(name, place, f"not JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise FileProblem(name, None, f"not JSON: {error}") from None
    if not isinstance(tree, dict):
        return None
    found = list(_json_places(text))
    places = {path: place for path, place, _ in found}
    spans = {path: span for path, _, span in found}
    earlier = [
        Entry(".".join(path), json.loads(text[span[0] : span[1]], parse_constant=str), place)
        for path, place, span in found
        if span is not None and places[path] != place
    ]
    entries = (*earlier, *flattened(name, tree, _placed(places), spans.get))
    return Document(name, "json", entries)


def _json_places(text: str) -> Iterator[tuple[tuple[str, ...], Place, tuple[int, int] | None]]:
    """The path and place of every key of valid JSON, and the span of its value if it is no object.

    The last one of a kind is last.
    """
    decoder = json.JSONDecoder(parse_constant=str)
    line, start, lists = 1, 0, 0
    path: list[str | None] = []
    key: str | None = None
    for token in JSON_TOKEN.finditer(text):
        mark = token[0]
        lists += (mark == "[") - (mark == "]")
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
            place = Place(line, token.start() - start + 1)
            # what is in a list is part of one setting, and looking at it again would take long
            span = None if lists else _json_span(decoder, text, token.end())
            yield (*parents, key), place, span


def _json_span(decoder: json.JSONDecoder, text: str, behind: int) -> tuple[int, int] | None:
    blank = BLANK.match(text, behind)
    begin = behind if blank is None else blank.end()
    if text[begin] == "{":
        return None
    _, end = decoder.raw_decode(text, begin)
    return begin, end


BLANK = re.compile(r"\s*")
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
    written = list(_toml_places(text))
    places = {path: place for path, place, _ in written}
    spans = {path: span for path, _, span in written}
    return Document(name, "toml", tuple(flattened(name, tree, _placed(places), spans.get)))


def _end(text: str) -> Place:
    last = text.rpartition("\n")[2]
    return Place(text.count("\n") + 1, len(last) + 1)


def _toml_places(text: str) -> Iterator[tuple[tuple[str, ...], Place, tuple[int, int]]]:
    """The path and place of every key, and the span of its value."""
    import tree_sitter_toml  # noqa: PLC0415  (most commands read no file)
    from tree_sitter import Language, Parser  # noqa: PLC0415

    content = text.encode()
    root = Parser(Language(tree_sitter_toml.language())).parse(content).root_node

    begins = range(len(text)) if text.isascii() else _bytes_before(text)

    def characters(node: Node) -> tuple[int, int]:
        """The span of a node, which the parser counts in bytes."""
        return bisect_left(begins, node.start_byte), bisect_left(begins, node.end_byte)

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
            yield path, Place(row + 1, column + 1), characters(node.named_children[1])
            waiting += [(path, child) for child in reversed(node.named_children[1:])]
        elif node.type in {"document", "inline_table"}:
            waiting += [(above, child) for child in reversed(node.named_children)]


def _bytes_before(text: str) -> list[int]:
    """How many bytes of UTF-8 stand before each character."""
    return list(accumulate((len(each.encode()) for each in text), initial=0))


def _toml_path(node: Node) -> tuple[str, ...]:
    if node.type == "dotted_key":
        return tuple(part for child in node.named_children for part in _toml_path(child))
    text = node.text.decode() if node.text is not None else ""
    return (next(iter(tomllib.loads(f"{text} = 0"))),)


def _placed(
    places: Mapping[tuple[str, ...], Place],
) -> Callable[[tuple[str, ...]], Place]:
    return lambda path: places.get(path, Place(1, 1))
