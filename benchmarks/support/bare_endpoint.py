"""The rival of the OTLP endpoint: takes a body, inserts it into SQLite, commits, answers 200.

``python bare_endpoint.py PORT FILE``. No key, no reading of spans, no redaction, no answers.
"""

from __future__ import annotations

import sqlite3
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def main() -> None:
    database = sqlite3.connect(sys.argv[2], isolation_level=None, check_same_thread=False)
    database.execute("pragma journal_mode = wal")
    database.execute("create table if not exists bodies (body blob)")

    async def take(request: Request) -> Response:
        database.execute("insert into bodies values (?)", (await request.body(),))
        return Response(b"", media_type="application/x-protobuf")

    app = Starlette(routes=[Route("/v1/traces", take, methods=["POST"])])
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
