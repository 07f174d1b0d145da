"""Says in plain sentences what an alarm means, and what to look at."""

from __future__ import annotations

from collections.abc import Iterator

from claimwise.monitoring.values import TITLES, Alarm, AlarmEvidence
from claimwise.report.format import show_percent


def describe_alarm(alarm: Alarm) -> str:
    """Return what happened, in one sentence."""
    found = alarm.evidence
    since = f" since {found.since:%Y-%m-%d}" if found.since else ""
    where = f" in {alarm.slice}" if alarm.slice and alarm.signal != "judge" else ""
    match alarm.signal:
        case "no_data":
            return (
                f"No answers of {alarm.system} came in on {found.since}; the same weekday usually "
                f"has about {found.baseline or 0:.0f}."
            )
        case "no_labels":
            return (
                f"Nobody has labelled enough claims of {alarm.system}{since}; without labels the "
                "rate rests on the judge alone."
            )
        case "judge":
            return _describe_judge_alarm(alarm)
        case "input_mix":
            moved = _list_moved(found)
            return f"The mix of inputs of {alarm.system} changed{since}: {moved}."
        case _:
            name = TITLES.get(alarm.signal, alarm.signal)
            went = "fell" if (found.value or 0) < (found.baseline or 0) else "rose"
            return (
                f"{name} of {alarm.system}{where} {went} from {show_percent(found.baseline)} to "
                f"{show_percent(found.value)}{since}."
            )


def _describe_judge_alarm(alarm: Alarm) -> str:
    found = alarm.evidence
    if found.judge_state == "replaced":
        return (
            f"Another judge judges {alarm.system}: {found.judge} since {found.since}, "
            f"{found.judge_before} before. Figures before and after can't be compared."
        )
    went = "harsher" if (found.value or 0) < 0 else "more lenient"
    return (
        f"The judge {found.judge} changed: on {found.anchors} frozen claims its rate moved by "
        f"{abs(found.value or 0) * 100:.1f} points since {found.since}; it is {went} than it was."
    )


def _list_moved(found: AlarmEvidence) -> str:
    return "; ".join(
        f"{name} from {show_percent(before)} to {show_percent(after)}"
        for name, (before, after) in list(found.moved.items())[:3]
    )


def explain_alarm(alarm: Alarm) -> list[str]:
    """Return what an alarm means, sentence by sentence: what, how sure, and what caused it."""
    return [describe_alarm(alarm), *_explain(alarm)]


def _explain(alarm: Alarm) -> Iterator[str]:
    found = alarm.evidence
    if found.statistic is not None and found.threshold is not None:
        unit = "weeks" if alarm.signal == "judge" else "days"
        yield (
            f"The evidence is {found.statistic:,.0f}; the alarm is raised at "
            f"{found.threshold:,.0f}. While nothing changes, that takes {found.threshold:,.0f} "
            f"{unit} on average, however often you look."
        )
    if alarm.signal in ("rate", "judge_rate"):
        yield _explain_judge(found)
    if alarm.signal == "judge":
        yield (
            "Calibrations of this judge are void from now on: corrected rates need new labels, "
            "and a rate by this judge alone says nothing about your system."
        )
    before, since = set(found.versions_before), found.versions_since
    new = [version for version in since if version not in before]
    if new and alarm.signal not in ("judge", "no_data", "no_labels"):
        yield f"New since then: version {', '.join(new[:3])}."
    if found.moved and alarm.signal != "input_mix":
        yield f"It moved most in {_list_moved(found)}."
    if found.reasons and alarm.signal == "unscored":
        listed = ", ".join(f"{reason} ({count:,})" for reason, count in found.reasons.items())
        yield f"Reasons: {listed}."


def _explain_judge(found: AlarmEvidence) -> str:
    """Say whether the judge may be what moved, and not the system."""
    alone = found.basis == "judge only"
    match found.judge_state:
        case "steady":
            return (
                f"The judge is the same as it was on {found.anchors} frozen claims: "
                "the system changed."
            )
        case "changed" | "replaced" if alone:
            return (
                f"The judge itself changed (alarm {found.judge_alarm}), its calibration is void, "
                "and this rate rests on it alone: it may be the judge and not the system. Label "
                "claims before you act."
            )
        case "changed" | "replaced":
            return (
                f"The judge itself changed (alarm {found.judge_alarm}) and its calibration is "
                "void; this rate is corrected by people's labels of the same days, so the system "
                "changed as well."
            )
        case _:
            return (
                "Whether the judge changed was not checked lately: judge the anchors again before "
                "you blame the system."
                if alone
                else "Whether the judge changed was not checked lately; the rate is corrected by "
                "people's labels of the same days."
            )


def advise(alarm: Alarm, anchors: str | None) -> list[str]:
    """Return what to look at, in order."""
    again = (
        f"`claimwise verify --run {anchors} --again --fresh`."
        if anchors
        else "name a run with labelled claims as anchors in [monitor], and judge it every week."
    )
    match alarm.signal:
        case "rate" | "judge_rate":
            return [
                "Read the unsupported claims of the days since the change, worst first.",
                "Compare the versions before and since: prompt, model, retriever, documents.",
                f"Make sure that it is not the judge: {again}",
                "Label the claims that decide most: `claimwise label-next 40`.",
                "Turn the worst answers into incidents, so that a gate catches them next time.",
            ]
        case "judge":
            return [
                "Find out what changed: model version behind the same name, prompt, settings.",
                "Label 100 claims or more that the judge has judged since: `claimwise label-next`.",
                "Calibrate it again: `claimwise calibrate`.",
                "Close this alarm with a new baseline: alarms about rates start afresh.",
            ]
        case "unscored":
            return [
                "Look at the reasons: a failing judge, missing passages, or answers not judged.",
                "Judge what is open: `claimwise verify --run RUN`.",
                "Until then, rates are of the scored claims only.",
            ]
        case "refusals":
            return [
                "Read the refusals of the days since the change: is the corpus without the answer?",
                "Compare the versions before and since; a safety prompt or an empty retriever "
                "shows here first.",
            ]
        case "input_mix":
            return [
                "Find out who sends the new inputs: a new customer, a crawler, a changed form.",
                "A rate may move with the mix alone: `claimwise drift` explains how much.",
                "If the new mix is here to stay, close this alarm with a new baseline.",
            ]
        case "no_labels":
            return ["Open a round: `claimwise label-next 50`.", "Ask labelers: `claimwise rounds`."]
        case _:
            return [
                "Look whether the system answered at all; no data is not a good day.",
                "Look at the sender: exporter, API key, network; then at claimwise's own log.",
                "If the system is gone for good, close this alarm with a new baseline.",
            ]
