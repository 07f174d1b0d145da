"""Describes the HTTP interface for programs: OpenAPI 3.1, made from the values themselves."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec

from claimwise.online_check.values import (
    AnswerToCheck,
    CheckCall,
    CheckReply,
    ErrorReply,
)

CHECK, TRACES = "/v1/check", "/v1/traces"
_EXAMPLE = {
    "answer": "The tower is 200 m tall.",
    "sources": [{"id": "guide", "text": "The tower is 139 m tall."}],
    "question": "How tall is the tower?",
}


@cache
def describe_api() -> dict[str, Any]:
    """Return the description."""
    kinds = (CheckCall, AnswerToCheck, CheckReply, ErrorReply)
    schemas, parts = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    call, answer, reply, error = schemas
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "claimwise",
            "version": version("claimwise"),
            "description": "Check answers against their sources, claim by claim, and send traces.",
        },
        "security": [{"key": []}],
        "paths": {CHECK: {"post": _describe_check(call, answer, reply, error)},
                  TRACES: {"post": _describe_traces(error)}},
        "components": {
            "schemas": parts,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key from `claimwise keys create NAME --scope check`.",
                }
            },
        },
    }  # fmt: skip


def _describe_check(call: Any, answer: Any, reply: Any, error: Any) -> dict[str, Any]:
    body = {
        "schema": {
            "oneOf": [call, {**answer, "description": "One answer; deadline_ms beside it."}]
        },
        "examples": {
            "several": {"value": {"answers": [_EXAMPLE], "deadline_ms": 300}},
            "one": {"value": {**_EXAMPLE, "deadline_ms": 300}},
        },
    }
    return {
        "operationId": "checkAnswers",
        "summary": "Check answers against their sources",
        "description": (
            "Returns every claim of every answer with a verdict. By the deadline, the response is "
            "sent as it stands: claims that were not judged in time are unscored."
        ),
        "requestBody": {"required": True, "content": {"application/json": body}},
        "responses": {
            "200": {"description": "The claims with their verdicts", "content": _as_json(reply)},
            **_describe_errors(error),
        },
    }


def _describe_traces(error: Any) -> dict[str, Any]:
    binary = {"schema": {"type": "string", "format": "binary"}}
    request = {"application/x-protobuf": binary, "application/json": {"schema": {"type": "object"}}}
    return {
        "operationId": "exportTraces",
        "summary": "Send traces (OTLP over HTTP)",
        "description": "An ExportTraceServiceRequest of OpenTelemetry, packed with gzip or not.",
        "requestBody": {"required": True, "content": request},
        "responses": {
            "200": {"description": "Stored; says how many spans were refused"},
            **_describe_errors(error),
        },
    }


def _describe_errors(error: Any) -> dict[str, Any]:
    told = {
        "400": "The request can't be read",
        "401": "No key, or one that does not hold",
        "403": "The key's scope does not cover this",
        "413": "The request is too large",
        "429": "Too many requests; Retry-After says when to ask again",
        "503": "The store can't be used; ask again later",
    }
    return {
        status: {"description": words, "content": _as_json(error)} for status, words in told.items()
    }


def _as_json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
