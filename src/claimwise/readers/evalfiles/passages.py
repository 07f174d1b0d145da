"""Reads contexts: lists of texts or objects, also when they were written as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from claimwise.readers.evalfiles.values import (
    is_nothing,
    normalise_name,
    parse_cell,
    to_id,
    to_json,
    to_text,
)
from claimwise.types.traces import Passage, PassageKind

TEXT_KEYS = ("text", "content", "pagecontent", "context", "contexttext", "passage", "passagetext",
             "chunk", "chunktext", "sourcetext", "documenttext", "body", "snippet", "document",
             "sentences", "paragraph", "value")  # fmt: skip
_ID_KEYS = ("sourceid", "documentid", "docid", "id", "chunkid", "docuri", "uri", "source", "url",
            "filename", "filepath", "path", "file")  # fmt: skip
_TITLE_KEYS = ("title", "name", "filename")
_WRAPPERS = ("document", "node", "payload", "item", "doc")
_NOT_RECORDED = frozenset({"none", "null", "n/a", "na", "undefined"})
_MOST_DEPTH = 4


def read_passages(value: Any, kind: PassageKind = "passage") -> tuple[Passage, ...] | None:
    """Return the passages of a cell; None where it says nothing, nothing where it lists none.

    A text that is no list is one passage. An object is one passage if it has a text; else it maps
    ids to texts, or fields to lists (``{"title": […], "sentences": […]}``).
    """
    found = parse_cell(value)
    if is_nothing(found) or (isinstance(found, str) and found.strip().lower() in _NOT_RECORDED):
        return None
    return tuple(p for p in _list_passages(found, kind, 0) if p.text or p.source_id)


def add_ids(passages: Sequence[Passage], ids: Any) -> tuple[Passage, ...]:
    """Return passages with the ids that another column lists for them, in order."""
    listed = parse_cell(ids)
    listed = listed if isinstance(listed, list) else [listed]
    found = [to_id(one) for one in listed][: len(passages)]
    found += [None] * (len(passages) - len(found))
    return tuple(
        Passage(source_id=p.source_id or one, text=p.text, title=p.title, kind=p.kind)
        for p, one in zip(passages, found, strict=True)
    )


def _list_passages(value: Any, kind: PassageKind, depth: int) -> Iterator[Passage]:
    if isinstance(value, Mapping):
        yield from _read_object(value, kind, depth)
    elif isinstance(value, list | tuple):
        if depth < _MOST_DEPTH:
            for part in value:
                yield from _list_passages(_open_object(part), kind, depth + 1)
    elif (text := to_text(value)) is not None:
        yield Passage(text=text, kind=kind)


def _open_object(part: Any) -> Any:
    """Return the object that an item of a list writes out as text, if it has a text of its own."""
    if isinstance(part, str) and part.lstrip()[:1] == "{":
        found = parse_cell(part)
        if isinstance(found, dict) and find_passage_text(found) is not None:
            return found
    return part


def _read_object(value: Mapping[str, Any], kind: PassageKind, depth: int) -> Iterator[Passage]:
    names = {normalise_name(str(name)): part for name, part in value.items()}
    columns = [part for part in value.values() if isinstance(part, list)]
    if len(columns) > 1 and len({len(part) for part in columns}) == 1:
        for parts in zip(*columns, strict=True):
            keys = (name for name, part in value.items() if isinstance(part, list))
            yield from _read_object(dict(zip(keys, parts, strict=True)), kind, depth)
    elif find_passage_text(value) is not None or any(name in names for name in _ID_KEYS):
        yield _read_one(value, kind)
    elif value and all(isinstance(part, str) for part in value.values()):
        for name, part in value.items():
            yield Passage(source_id=str(name), text=part, kind=kind)
    elif len(value) == 1 and depth < _MOST_DEPTH:
        yield from _list_passages(next(iter(value.values())), kind, depth + 1)
    elif value:
        yield Passage(text=to_json(value), kind=kind)


def find_passage_text(value: Mapping[str, Any]) -> str | None:
    """Return the text of an object that stands for a passage."""
    inner, _ = _unwrap(value)
    names = {normalise_name(str(name)): part for name, part in inner.items()}
    for key in TEXT_KEYS:
        part = names.get(key)
        if isinstance(part, str) and part.strip():
            return part
        if isinstance(part, list) and part and all(isinstance(one, str) for one in part):
            return "".join(part) if key == "sentences" else "\n".join(part)
    return None


def _unwrap(value: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return an object and its metadata; tools put a document or a node around it."""
    for name in _WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, Mapping):
            value = {**value, **inner}
            break
    more = value.get("metadata") or value.get("meta")
    return value, more if isinstance(more, Mapping) else {}


def _read_one(value: Mapping[str, Any], kind: PassageKind) -> Passage:
    inner, more = _unwrap(value)
    return Passage(
        source_id=_find(inner, _ID_KEYS) or _find(more, _ID_KEYS),
        text=find_passage_text(value),
        title=_find(inner, _TITLE_KEYS) or _find(more, _TITLE_KEYS),
        kind=kind,
    )


def _find(value: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    names = {normalise_name(str(name)): part for name, part in value.items()}
    return next((found for key in keys if (found := to_id(names.get(key)))), None)
