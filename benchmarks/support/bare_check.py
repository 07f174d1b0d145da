"""The rival of ``POST /v1/check``: calls ``claimwise.check`` in a thread, without a deadline.

``python bare_check.py PORT JUDGE``
"""

from __future__ import annotations

import json
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import claimwise


def main() -> None:
    judge = claimwise.load_verifier(sys.argv[2])

    def judge_one(given: dict[str, object]) -> dict[str, object]:
        sources = {one["id"]: one["text"] for one in given["sources"]}  # type: ignore[attr-defined]
        found = claimwise.check(str(given["answer"]), sources, verifier=judge)
        claims = [{"verdict": c.verdict, "unscored": c.unscored} for c in found.claims]
        return {"complete": True, "claims": claims}

    async def take(request: Request) -> JSONResponse:
        call = json.loads(await request.body())
        return JSONResponse(
            {"results": [await run_in_threadpool(judge_one, a) for a in call["answers"]]}
        )

    app = Starlette(routes=[Route("/v1/check", take, methods=["POST"])])
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
