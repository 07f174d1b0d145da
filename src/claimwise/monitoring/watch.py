"""Reads every finished day of live traffic once, in order, and raises alarms.

What a day says is kept as points, in one transaction with the alarms it raises and the messages
about them. So a second look changes nothing, two processes don't read a day twice, and whoever is
killed goes on with the first day that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime

from claimwise.monitoring.evidence import add_judge_evidence, find_moved, gather_evidence
from claimwise.monitoring.figures import add_up_day
from claimwise.monitoring.judge_watch import watch_anchors
from claimwise.monitoring.naming import name_alarm
from claimwise.monitoring.queries import (
    add_alarms,
    add_points,
    is_read,
    list_alarms,
    list_traffic_systems,
    read_day,
    read_points,
    to_start,
    void_calibrations,
)
from claimwise.monitoring.sequential import TWENTY_YEARS_OF_DAYS
from claimwise.monitoring.settings import MonitorSettings
from claimwise.monitoring.streams import (
    History,
    Step,
    find_day_rate,
    follow_labels,
    follow_mix,
    follow_share,
)
from claimwise.monitoring.values import (
    DAILY,
    DAY,
    VOLUME,
    WHOLE,
    Alarm,
    AlarmEvidence,
    DayFigures,
    MonitorPoint,
    PointEvidence,
)
from claimwise.monitoring.weekly import add_weeks
from claimwise.store import Store

_SILENT_DAYS = 7  # without enough labels, where there were always some
_LEAST_ANSWERS = 5  # a group with fewer a day is not followed
_MOST_GROUPS = 20


@dataclass(slots=True)
class WatchResult:
    """What one call of the monitor did."""

    days: list[tuple[str, date]] = field(default_factory=list)
    runs: dict[str, None] = field(default_factory=dict)
    raised: list[Alarm] = field(default_factory=list)


@dataclass(slots=True)
class SystemWatch:
    """One system: its streams so far, and its alarms."""

    system: str
    settings: MonitorSettings
    now: datetime
    histories: dict[tuple[str, str], History] = field(default_factory=dict)
    alarms: list[Alarm] = field(default_factory=list)
    anchors: list[MonitorPoint] = field(default_factory=list)

    def find_history(self, signal: str, group: str = WHOLE) -> History:
        """Return the stream of a figure."""
        return self.histories.setdefault((signal, group), History())

    def is_open(self, signal: str, group: str = WHOLE) -> bool:
        """Return whether an alarm of a stream waits for someone to close it."""
        wanted = (signal, self.system, group)
        return any(one.stream == wanted and one.closed_at is None for one in self.alarms)

    def open_judge_alarm(self, judge: str | None, day: date) -> Alarm | None:
        """Return the open alarm that says that this system's judge had changed by a day."""
        for alarm in self.alarms:
            if alarm.signal != "judge" or alarm.closed_at is not None:
                continue
            if alarm.window_from.date() > day:
                continue
            if alarm.system == self.system or (not alarm.system and alarm.slice == judge):
                return alarm
        return None


def watch_all(
    store: Store, settings: MonitorSettings, now: datetime, system: str | None = None
) -> WatchResult:
    """Read every day that is finished and not read yet, of one system or of all.

    Args:
        store: where traffic, points and alarms are.
        settings: what to watch.
        now: the time, in UTC without a zone; days after it are not there yet.
        system: only this one.
    """
    result = WatchResult()
    urls = [webhook.url for webhook in settings.webhooks]
    result.raised += watch_anchors(store, settings, now, urls)
    for name, first in list_traffic_systems(store).items():
        if system in (None, name):
            _watch_system(store, settings, name, first, now, result)
    return result


def _watch_system(
    store: Store,
    settings: MonitorSettings,
    system: str,
    first: date,
    now: datetime,
    result: WatchResult,
) -> None:
    watch = _load(store, settings, system, now)
    read = [p.day for p in watch.find_history(VOLUME).points]
    day = max(read) + DAY if read else first
    last = now.date() - DAY * (1 + settings.wait_days)
    while day <= last:
        if _read_one_day(store, watch, day, result):
            result.days.append((system, day))
        else:  # another process was first
            watch = _load(store, settings, system, now)
        day += DAY
    add_weeks(store, system, first, last, now)


def _load(store: Store, settings: MonitorSettings, system: str, now: datetime) -> SystemWatch:
    watch = SystemWatch(system, settings, now)
    with store.snapshot():
        for point in read_points(store, system):
            watch.find_history(*point.key).add(point)
        watch.alarms = list_alarms(store, system=system)
        watch.anchors = [p for p in read_points(store, "") if not p.evidence.mark]
    return watch


def _read_one_day(store: Store, watch: SystemWatch, day: date, result: WatchResult) -> bool:
    """Read a day and keep what it says, all or nothing; return False where it was read already."""
    start = to_start(day)
    rows = read_day(store, watch.system, start, start + DAY, watch.now)
    figures = add_up_day(rows, watch.settings.by)
    points, alarms = evaluate_day(watch, day, figures)
    with store.write("monitor"):
        if is_read(store, watch.system, day):
            return False
        add_points(store, points)
        add_alarms(store, alarms, [webhook.url for webhook in watch.settings.webhooks])
        for alarm in alarms:
            if alarm.signal == "judge" and alarm.evidence.judge_before:
                void_calibrations(store, alarm.evidence.judge_before, watch.now)
    for point in points:
        watch.find_history(*point.key).add(point)
    watch.alarms += alarms
    result.raised += alarms
    result.runs.update(dict.fromkeys(figures[WHOLE].runs))
    return True


def evaluate_day(
    watch: SystemWatch, day: date, figures: dict[str, DayFigures]
) -> tuple[list[MonitorPoint], list[Alarm]]:
    """Return the points and alarms of a day; nothing is kept yet."""
    whole = figures[WHOLE]
    points = [_make_point(watch, VOLUME, WHOLE, day, _describe_volume(whole))]
    alarms = list(_find_gaps(watch, day, whole))
    alarms += _find_replaced_judge(watch, day, whole)
    groups = _choose_groups(watch, figures)
    followed = [(WHOLE, whole, TWENTY_YEARS_OF_DAYS)]
    followed += [
        (name, figures.get(name, DayFigures()), TWENTY_YEARS_OF_DAYS * len(groups))
        for name in groups
    ]
    judge_alarm = next((one for one in alarms if one.signal == "judge"), None)
    for group, one, threshold in followed:
        for signal, step in _follow(watch, group, day, one, threshold):
            points.append(_make_point(watch, signal, group, day, step))
            alarm = _decide(watch, signal, group, day, step, one, judge_alarm)
            alarms += [alarm] if alarm else []
    return points, alarms


def _follow(
    watch: SystemWatch, group: str, day: date, figures: DayFigures, threshold: float
) -> Iterator[tuple[str, Step]]:
    """Yield what a day adds to every stream of a system or a group."""
    history = watch.find_history("rate", group)
    judge_alarm = watch.open_judge_alarm(figures.judge, day)
    since = judge_alarm.window_from if judge_alarm else history.since
    rate = find_day_rate(history, figures, since)
    if watch.settings.rate_alarm == "labels":
        step = follow_labels(history, rate, threshold)
    else:
        step = follow_share(history, DAILY["rate"], rate.value, figures.answers, threshold)
    step.evidence.sizes = figures.sizes.tolist()
    step.evidence.label_counts = figures.label_counts.tolist()
    step.evidence.supported_counts = figures.supported_counts.tolist()
    step.evidence.basis = "corrected"
    yield "rate", _add_counts(step, figures)
    judged = figures.sizes.sum()
    shares = {
        "judge_rate": figures.approved_weight / judged if judged else None,
        "unscored": figures.unscored_weight / figures.asked_weight
        if figures.asked_weight
        else None,
    }
    if group == WHOLE:
        shares["refusals"] = figures.refused_weight / figures.weight if figures.weight else None
    for signal, value in shares.items():
        step = follow_share(
            watch.find_history(signal, group), DAILY[signal], value, figures.answers, threshold
        )
        yield signal, _add_counts(step, figures)
    if group == WHOLE:
        yield "input_mix", follow_mix(watch.find_history("input_mix"), figures, threshold)


def _divide(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _add_counts(step: Step, figures: DayFigures) -> Step:
    evidence = step.evidence
    evidence.answers, evidence.claims = figures.answers, figures.claims
    evidence.unscored, evidence.labels = figures.unscored, figures.labels
    return step


def _decide(
    watch: SystemWatch,
    signal: str,
    group: str,
    day: date,
    step: Step,
    figures: DayFigures,
    judge_alarm: Alarm | None,
) -> Alarm | None:
    """Return the alarm that a day raises in a stream; None where there is none to raise."""
    threshold = step.evidence.threshold
    if step.statistic is None or threshold is None or step.statistic < threshold:
        return None
    if watch.is_open(signal, group):
        return None
    if signal == "judge_rate" and _is_labelled(watch, group):
        return None  # the labels speak for the system; the judge alone would only repeat them
    evidence = gather_evidence(watch.histories, signal, group, step, figures)
    if signal in ("rate", "judge_rate"):
        changed = judge_alarm or watch.open_judge_alarm(figures.judge, day)
        add_judge_evidence(evidence, watch.anchors, changed, to_start(day) + DAY)
        evidence.moved = find_moved(watch.histories, signal, evidence.since)
    return _make_alarm(watch, signal, group, day, evidence)


def _is_labelled(watch: SystemWatch, group: str) -> bool:
    """Return whether the rate by labels has a baseline, so that it can raise alarms."""
    points = watch.find_history("rate", group).points
    return any(point.statistic is not None for point in points[-_SILENT_DAYS:])


def _choose_groups(watch: SystemWatch, figures: dict[str, DayFigures]) -> list[str]:
    """Return the groups that are followed: those that were, and new ones that are large enough."""
    known = {group for signal, group in watch.histories if signal == "rate" and group}
    new = {name for name, one in figures.items() if name and one.answers >= _LEAST_ANSWERS}
    largest = sorted(
        known | new, key=lambda name: (name not in known, -figures.get(name, DayFigures()).answers)
    )
    return sorted(largest[:_MOST_GROUPS])


def _find_gaps(watch: SystemWatch, day: date, figures: DayFigures) -> Iterator[Alarm]:
    """Yield alarms about what is missing: no answers, or no labels where there always were some."""
    volume = watch.find_history(VOLUME)
    days = [p for p in volume.points if p.window_from >= volume.since][-28:]
    same_weekday = [p.value or 0 for p in days if p.day.weekday() == day.weekday()]
    usual = len(same_weekday) >= 2 and min(same_weekday) > 0
    if not figures.answers and usual and not watch.is_open("no_data"):
        seen = [p for p in days if p.value]
        evidence = AlarmEvidence(
            value=0.0,
            baseline=sum(same_weekday) / len(same_weekday),
            since=day,
            runs=seen[-1].evidence.runs if seen else [],
        )
        yield _make_alarm(watch, "no_data", WHOLE, day, evidence)
    rates = watch.find_history("rate").points[-_SILENT_DAYS:]
    silent = len(rates) == _SILENT_DAYS and all(point.value is None for point in rates)
    was_labelled = any(point.statistic is not None for point in watch.find_history("rate").points)
    if silent and was_labelled and figures.answers and not watch.is_open("no_labels"):
        evidence = AlarmEvidence(value=float(figures.labels), since=rates[0].day)
        yield _make_alarm(watch, "no_labels", WHOLE, day, evidence)


def _find_replaced_judge(watch: SystemWatch, day: date, figures: DayFigures) -> list[Alarm]:
    """Return an alarm where another judge judges a system's claims than the day before."""
    judged = [p for p in watch.find_history(VOLUME).points if p.evidence.judge]
    if not judged or figures.judge is None or watch.is_open("judge"):
        return []
    before = judged[-1].evidence.judge
    if before == figures.judge:
        return []
    evidence = AlarmEvidence(
        judge=figures.judge,
        judge_before=before,
        judge_state="replaced",
        since=day,
        claims=figures.claims,
        runs=list(figures.runs),
    )
    return [_make_alarm(watch, "judge", WHOLE, day, evidence)]


def _describe_volume(figures: DayFigures) -> Step:
    evidence = PointEvidence(
        judge=figures.judge,
        versions=dict(figures.versions.most_common(10)),
        runs=list(figures.runs),
        reasons=dict(figures.reasons.most_common(10)),
    )
    return _add_counts(Step(float(figures.answers), None, evidence), figures)


def _make_point(watch: SystemWatch, signal: str, group: str, day: date, step: Step) -> MonitorPoint:
    start = to_start(day)
    return MonitorPoint(
        signal=signal,
        system=watch.system,
        slice=group,
        window_from=start,
        window_until=start + DAY,
        computed_at=watch.now,
        value=step.value,
        statistic=step.statistic,
        evidence=step.evidence,
    )


def _make_alarm(
    watch: SystemWatch, signal: str, group: str, day: date, evidence: AlarmEvidence
) -> Alarm:
    start = to_start(evidence.since or day)
    return Alarm(
        alarm_id=name_alarm(signal, watch.system, group, day),
        signal=signal,
        system=watch.system,
        slice=group,
        raised_at=watch.now,
        window_from=start,
        window_until=to_start(day) + DAY,
        evidence=evidence,
    )
