"""What passes between the day's figures, the evidence over days, and the alarms."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np

from claimwise.monitoring.daily_rate import BANDS
from claimwise.monitoring.sequential import Array, Direction

Signal = Literal[
    "rate", "judge_rate", "unscored", "refusals", "input_mix", "no_data", "no_labels", "judge",
]  # fmt: skip

VOLUME: Final = "volume"
WEEKLY: Final = "weekly_rate"
WHOLE: Final = ""
DAY: Final = timedelta(days=1)
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)

NEW_BASELINE, RESTART = "new baseline", "restart"


class Watched(NamedTuple):
    """How a daily figure is watched: which change counts, and how much of it is tolerated."""

    title: str
    direction: Direction
    tolerated: float


DAILY: Final[dict[str, Watched]] = {
    "rate": Watched("Supported claims", "down", 0.01),
    "judge_rate": Watched("Supported claims (judge alone)", "down", 0.01),
    "unscored": Watched("Unscored claims", "up", 0.02),
    "refusals": Watched("Refusals", "both", 0.02),
}
MIX_TOLERATED: Final = 0.03
TITLES: Final[dict[str, str]] = {
    **{name: one.title for name, one in DAILY.items()},
    "input_mix": "Mix of inputs",
    "no_data": "No data",
    "no_labels": "No labels",
    "judge": "Judge",
}


@dataclass(slots=True)
class DayFigures:
    """One day of a system or of a group in it. Counts are as they are; bands are weighted."""

    answers: int = 0
    refusals: int = 0
    claims: int = 0
    unscored: int = 0
    labels: int = 0
    weight: float = 0.0
    refused_weight: float = 0.0
    asked_weight: float = 0.0
    unscored_weight: float = 0.0
    approved_weight: float = 0.0
    sizes: Array = field(default_factory=lambda: np.zeros(BANDS))
    label_weights: Array = field(default_factory=lambda: np.zeros(BANDS))
    supported_weights: Array = field(default_factory=lambda: np.zeros(BANDS))
    label_counts: Array = field(default_factory=lambda: np.zeros(BANDS))
    supported_counts: Array = field(default_factory=lambda: np.zeros(BANDS))
    # One label per answer: band, what it says, and what it stands for.
    single_labels: list[tuple[int, bool, float]] = field(default_factory=list)
    judges: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    inputs: dict[str, float] = field(default_factory=dict)  # weights of kinds of inputs

    @property
    def judge(self) -> str | None:
        """The judge that judged most of the day's claims."""
        return self.judges.most_common(1)[0][0] if self.judges else None


class PointEvidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a point of the monitor rests on, and what the next one goes on from."""

    answers: int = 0
    claims: int = 0
    unscored: int = 0
    labels: int = 0
    baseline: float | None = None
    spread: float | None = None
    threshold: float | None = None
    state: list[float] = []
    basis: str = ""
    low: float | None = None
    high: float | None = None
    sizes: list[float] = []
    label_counts: list[float] = []
    supported_counts: list[float] = []
    shares: dict[str, float] = {}
    states: dict[str, list[float]] = {}
    judge: str | None = None
    versions: dict[str, int] = {}
    runs: list[str] = []
    reasons: dict[str, int] = {}
    refusals: list[str] = []
    mark: str = ""
    since: datetime | None = None
    verdicts: dict[str, int] = {}  # anchors, and 1 where the judge called them supported


class MonitorPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``monitor_points``."""

    signal: str
    system: str
    slice: str
    window_from: datetime
    window_until: datetime
    computed_at: datetime
    value: float | None
    statistic: float | None
    evidence: PointEvidence

    @property
    def key(self) -> tuple[str, str]:
        """The stream within its system that the point belongs to."""
        return (self.signal, self.slice)

    @property
    def day(self) -> date:
        """The first day of its window."""
        return self.window_from.date()


class AlarmEvidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why an alarm was raised."""

    value: float | None = None
    baseline: float | None = None
    tolerated: float | None = None
    spread: float | None = None
    statistic: float | None = None
    threshold: float | None = None
    since: date | None = None  # when the change seems to have begun
    basis: str = ""
    answers: int = 0
    claims: int = 0
    labels: int = 0
    reasons: dict[str, int] = {}
    moved: dict[str, tuple[float, float]] = {}  # groups or inputs: before and since
    versions_before: list[str] = []
    versions_since: list[str] = []
    judge: str | None = None
    judge_before: str | None = None
    judge_state: str = ""  # steady, changed, replaced or unchecked
    judge_alarm: str | None = None
    anchors: int = 0
    runs: list[str] = []  # of the days since the change, the latest first


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``alarms``."""

    alarm_id: str
    signal: str
    system: str
    slice: str
    raised_at: datetime
    window_from: datetime
    window_until: datetime
    evidence: AlarmEvidence
    closed_at: datetime | None = None
    closed_by: str | None = None
    resolution: str | None = None

    @property
    def stream(self) -> tuple[str, str, str]:
        """What was watched."""
        return (self.signal, self.system, self.slice)

    @property
    def title(self) -> str:
        """What it is about, in words."""
        where = f" in {self.slice}" if self.slice and self.signal != "judge" else ""
        whose = f" of {self.system}" if self.system else ""
        return f"{TITLES.get(self.signal, self.signal)}{whose}{where}"


def to_document(value: msgspec.Struct) -> dict[str, Any]:
    """Return a value as reading it again from JSON gives it."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return found
