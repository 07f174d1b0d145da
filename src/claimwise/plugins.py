"""Everything that a plug-in imports from claimwise, on one page. docs/plugins.md says how.

These names stay where they are; the modules behind them may move.

An entry point of ``claimwise.judges`` or ``claimwise.readers`` names a :class:`Plugin` that loads a
:class:`Judge` or a :class:`Reader`. One of ``claimwise.providers`` names a :class:`Provider`, and
one of ``claimwise.metrics`` a package with ``.sql`` files.
"""

from claimwise.disk.input import refuse
from claimwise.errors import InputError, PluginError, Problem
from claimwise.judges.outside import Judge
from claimwise.llm.batch_api import BatchApi, BatchResult, BatchStatus, SentBatch
from claimwise.llm.batch_web import BatchHttpError, BatchWeb
from claimwise.llm.providers import Provider
from claimwise.llm.wire import Features, Reading, Wire, read_count
from claimwise.readers.outside import Reader, Record, RecordKind, Records
from claimwise.registry import Plugin
from claimwise.types.llm import Asker, LlmCall, LlmFailure, LlmReply, Usage
from claimwise.types.rows import (
    Answer,
    Citation,
    Claim,
    Context,
    GoldSpan,
    Item,
    ItemAttribute,
    Label,
    Labeler,
    Row,
    Run,
    Source,
)
from claimwise.types.traces import Dropped, Passage, Recognised, ToolCall, Trace
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores, Span

__all__ = [
    "Answer",
    "AnswerClaim",
    "Asker",
    "BatchApi",
    "BatchHttpError",
    "BatchResult",
    "BatchStatus",
    "BatchWeb",
    "CheckRequest",
    "Citation",
    "Claim",
    "ClaimVerdict",
    "Context",
    "Dropped",
    "Features",
    "GoldSpan",
    "InputError",
    "Item",
    "ItemAttribute",
    "Judge",
    "Label",
    "Labeler",
    "LlmCall",
    "LlmFailure",
    "LlmReply",
    "Passage",
    "Plugin",
    "PluginError",
    "Problem",
    "Provider",
    "Reader",
    "Reading",
    "Recognised",
    "Record",
    "RecordKind",
    "Records",
    "Row",
    "Run",
    "Scores",
    "SentBatch",
    "Source",
    "Span",
    "ToolCall",
    "Trace",
    "Usage",
    "Wire",
    "read_count",
    "refuse",
]
