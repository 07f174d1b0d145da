"""Retrieved documents, in whichever way a retriever or a tracer writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.readers.traces.values import (
    Table,
    decode_nested_json,
    find_field_text,
    find_list,
    find_object,
    spread,
    to_json_text,
)
from claimwise.types.traces import Passage

_SOURCE_ID = ("source_id", "document_id", "doc_id", "id", "doc_uri", "source", "url", "uri",
              "file_name", "id_", "filename", "href")  # fmt: skip
_METADATA_ID = ("source_id", "document_id", "doc_id", "doc_uri", "source", "url", "uri",
                "file_path", "file_name", "filename", "id")  # fmt: skip
_TEXT = ("context_text", "source_text", "text", "content", "page_content", "pageContent",
         "document", "chunk", "passage", "body", "snippet", "context", "value")  # fmt: skip
_TITLE = ("title", "name")
# Fields that hold the documents of an answer or a prompt.
DOCUMENT_FIELDS = ("source_documents", "retrieved_documents", "documents", "retrieved_contexts",
                   "retrieval_context", "contexts", "context", "source_nodes", "sources", "docs",
                   "context_str", "chunks", "nodes", "matches", "results")  # fmt: skip
_DEEPEST = 4


def list_passages(value: Any, depth: int = 0) -> Iterator[Passage]:
    """Yield the passages of a list, an object around one, or one document."""
    value = decode_nested_json(value)
    if depth > _DEEPEST or value is None:
        return
    if isinstance(value, list):
        for part in value:
            yield from list_passages(part, depth + 1)
        return
    if isinstance(value, dict):
        value = spread(value)
        names = (*value, *DOCUMENT_FIELDS) if len(value) == 1 else DOCUMENT_FIELDS
        inner = next((value[n] for n in names if isinstance(value.get(n), list)), None)
        if inner is not None and not _has_text(value):
            yield from list_passages(inner, depth + 1)
            return
    passage = read_passage(value)
    if passage.source_id or passage.text:
        yield passage


def _has_text(value: Table) -> bool:
    return any(isinstance(value.get(name), str) for name in _TEXT)


def read_passage(part: Any) -> Passage:
    """Return one passage; its id is the document's own, else the one in its metadata."""
    if not isinstance(part, dict):
        return Passage(text=to_json_text(part))
    # OpenInference, LlamaIndex and LangChain put something around it.
    for name in ("document", "node", "kwargs", "payload"):
        if isinstance(part.get(name), dict):
            part = {**part, **part[name]}
    metadata = find_object(part, "metadata") or find_object(part, "meta")
    named = find_field_text(
        part, ("source_id", "document_id", "doc_id", "doc_uri", "source", "url")
    )
    own = named or find_field_text(metadata, _METADATA_ID) or find_field_text(part, _SOURCE_ID)
    return Passage(
        source_id=own,
        text=find_field_text(part, _TEXT) or _join_texts(part),
        title=find_field_text(part, _TITLE) or find_field_text(metadata, _TITLE),
    )


def _join_texts(part: Table) -> str | None:
    """Return texts that stand in parts, as search results of OpenAI and Anthropic have them."""
    parts = find_list(part, "content")
    texts = [find_field_text(inner, ("text",)) for inner in parts if isinstance(inner, dict)]
    return "\n".join(filter(None, texts)) or None


def looks_like_documents(value: Any) -> bool:
    """Tell whether a value is a list of documents by their shape alone."""
    value = decode_nested_json(value)
    if isinstance(value, dict):
        value = value.get("documents") or value.get("source_nodes")
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and _is_document(part) for part in value)
    )


def _is_document(part: Table) -> bool:
    inner = find_object(part, "kwargs") or find_object(part, "node") or part
    if "page_content" in inner or "pageContent" in inner:
        return True
    described = "metadata" in inner or "meta" in inner
    return described and _has_text(inner) and "role" not in inner
