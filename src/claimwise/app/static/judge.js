// One claim on the desk: what is shown of it, what was chosen, and what a verdict still lacks.

import { Picker, paint, selectedIn } from "./picker.js";
import { Sources, make } from "./sources.js";
import { toUnits } from "./text.js";

const NEEDS_EVIDENCE = new Set(["supported", "overreach", "contradicted", "stale"]);
const byId = (id) => document.getElementById(id);

export class Judge {
  // onChange: something was chosen or changed; onChoice: a verdict that lacks nothing.
  constructor({ onChange, onChoice }) {
    this.onChange = onChange;
    this.onChoice = onChoice;
    this.claim = byId("claim-text");
    this.buttons = Array.from(document.querySelectorAll("[data-verdict]"));
    this.reason = byId("reason");
    this.task = null;
    this.fixed = false; // what is shown is only to be read
    this.sources = byId("source-box") && new Sources({
      announce: (text) => this.say(`Selected: ${text}`),
      onSpan: () => this.tookEvidence(),
    });
    this.listen();
  }

  listen() {
    for (const button of this.buttons) {
      button.addEventListener("click", (event) => this.choose(button.dataset.verdict, event));
    }
    this.reason.addEventListener("input", () => this.changed());
    byId("evidence-clear")?.addEventListener("click", () => {
      getSelection().removeAllRanges(); // else it is taken again once it has rested
      this.sources.clearSpan();
      this.entry = null;
      this.fillLog();
      this.changed();
      this.claim.focus({ preventScroll: true });
    });
    byId("covered-save")?.addEventListener("click", (event) => this.finishCovered(event));
    byId("covered-cancel")?.addEventListener("click", () => this.leaveCovered());
    this.claim.addEventListener("pointerdown", () => this.asking && this.picker.leave());
    document.addEventListener("selectionchange", () => {
      if (this.asking && !this.picker.active) this.takeCovered();
    });
  }

  show(payload, draft) {
    this.task = payload.task;
    this.stale = payload.stale;
    this.entry = null;
    this.covered = null;
    this.verdict = null;
    this.leaveCovered();
    getSelection().removeAllRanges();
    const task = this.task;
    this.isAction = task.claim_type === "action";
    this.claim.textContent = task.claim_text;
    byId("claim-note").textContent = this.isAction ? "says what the system did" : "";
    byId("question").textContent = task.query;
    this.fillAnswer();
    this.reason.value = "";
    this.reason.readOnly = this.fixed;
    if (this.sources) {
      byId("sources-part").hidden = this.isAction;
      byId("log-part").hidden = !this.isAction;
      byId("log-heading").hidden = !this.isAction;
      this.sources.show(this.isAction ? [] : task.sources, this.stale);
      byId("no-sources").hidden = this.isAction || task.sources.length > 0;
      this.fillLog();
    }
    if (draft) this.restore(draft);
    this.refresh();
    scrollTo(0, 0);
    this.claim.focus({ preventScroll: true });
  }

  // The answer with the claim's place marked. Texts are set, never parsed: markup in them is text.
  fillAnswer() {
    const { answer_text: text, answer_start: from, answer_end: to } = this.task;
    const answer = byId("answer");
    if (from === null || to === null) {
      answer.textContent = text;
      return;
    }
    const [start, end] = [toUnits(text, from), toUnits(text, to)];
    answer.replaceChildren(text.slice(0, start), make("mark", "", text.slice(start, end)), text.slice(end));
    const mark = answer.querySelector("mark");
    answer.scrollTop = Math.max(0, mark.offsetTop - answer.offsetTop - answer.clientHeight / 2);
  }

  fillLog() {
    const list = byId("log");
    if (!list) return;
    const made = this.task.action_log.map((entry) => {
      const button = make("button", "log-entry");
      button.type = "button";
      button.setAttribute("aria-pressed", String(entry.entry_id === this.entry));
      button.append(make("span", "log-time", entry.logged_at ? entry.logged_at.replace("T", " ") : ""));
      button.append(make("span", "log-text", entry.entry_text));
      button.addEventListener("click", () => {
        this.entry = this.entry === entry.entry_id ? null : entry.entry_id;
        this.fillLog();
        list.querySelectorAll("button")[this.task.action_log.indexOf(entry)].focus();
        this.tookEvidence();
      });
      const item = make("li");
      item.append(button);
      return item;
    });
    list.replaceChildren(...made);
    byId("no-log").hidden = made.length > 0;
  }

  restore(draft) {
    this.reason.value = draft.reason ?? "";
    this.covered = draft.covered_text ?? null;
    this.verdict = draft.verdict || null;
    if (draft.entry_id && this.task.action_log.some((one) => one.entry_id === draft.entry_id)) {
      this.entry = draft.entry_id;
      this.fillLog();
    } else if (draft.source_id && draft.span_text) {
      this.sources?.restore(draft.source_id, draft.span_start, draft.span_text);
    }
  }

  tookEvidence() {
    this.changed();
    const found = this.read();
    if (found.span_text) this.say(`Span chosen: ${shorten(found.span_text)}`);
    else if (found.entry_id) this.say("Log entry chosen.");
    else this.say("Nothing chosen.");
  }

  changed() {
    this.refresh();
    this.onChange();
  }

  // What was chosen so far, as the server takes it.
  read(verdict = this.verdict) {
    const choice = { verdict: verdict ?? "" };
    const span = this.sources?.read();
    const bare = verdict === "unlinked" || !this.sources;
    if (!bare && this.entry !== null) choice.entry_id = this.entry;
    else if (!bare && span) {
      choice.source_id = span.source_id;
      choice.span_start = span.span_start;
      choice.span_text = span.span_text;
    }
    if (verdict === "overreach" && this.covered) choice.covered_text = this.covered;
    const reason = this.reason.value.trim();
    if (reason) choice.reason = reason;
    return choice;
  }

  // Everything, whatever the verdict: for the draft.
  readDraft() {
    return { ...this.read(""), verdict: this.verdict ?? "", covered_text: this.covered };
  }

  isEmpty() {
    const draft = this.readDraft();
    return !draft.verdict && !draft.source_id && !draft.entry_id && !draft.covered_text && !draft.reason;
  }

  // Why a verdict can't be given yet, in a few words and in a sentence; null when it can.
  lack(verdict) {
    if (this.fixed) return ["round closed", "The round is closed: labels given in it stay as they are."];
    if (!this.sources || !NEEDS_EVIDENCE.has(verdict)) return null;
    const span = this.sources.read();
    if (this.isAction) return this.lackEntry(verdict);
    if (!span) return ["needs a span", `${verdict} needs a span: select it in a source, or press s.`];
    if (verdict === "stale" && !span.stale) {
      return ["its source holds", `stale is for sources that no longer held; “${span.title}” did.`];
    }
    if (verdict === "supported" && span.stale) {
      return ["its source is stale", `“${span.title}” no longer held (${span.stale}): choose stale, or a span in a source that holds.`];
    }
    return null;
  }

  lackEntry(verdict) {
    if (verdict === "stale") return ["not for actions", "stale is for sources; a log entry does not expire."];
    if (this.entry === null) return ["needs an entry", `${verdict} needs an entry of the action log; without one it is unlinked.`];
    return null;
  }

  refresh() {
    for (const button of this.buttons) {
      const lack = this.lack(button.dataset.verdict);
      button.setAttribute("aria-disabled", String(lack !== null));
      button.setAttribute("aria-pressed", String(this.verdict === button.dataset.verdict));
      button.querySelector(".why").textContent = lack?.[0] ?? "";
    }
    this.fillEvidence();
  }

  fillEvidence() {
    const line = byId("evidence");
    if (!line) return;
    const span = this.sources.read();
    const entry = this.task?.action_log.find((one) => one.entry_id === this.entry);
    const text = entry?.entry_text ?? span?.span_text ?? null;
    byId("evidence-clear").hidden = text === null;
    if (text === null) {
      line.className = "evidence muted";
      line.textContent = this.isAction ? "No log entry chosen" : "No span chosen";
      return;
    }
    line.className = "evidence";
    line.replaceChildren(make("q", "", shorten(text)), ` ${entry ? "log entry" : span.title}`);
    line.querySelector("q").dir = "auto";
  }

  choose(verdict, event, { asked = false } = {}) {
    if (!this.task) return;
    const lack = this.lack(verdict);
    if (lack) {
      this.say(lack[1], "warn");
      return;
    }
    this.verdict = verdict;
    if (verdict === "overreach" && !asked) {
      this.askCovered();
      this.changed();
      return;
    }
    this.leaveCovered();
    this.changed();
    this.onChoice(this.read(verdict), event);
  }

  // Overreach: which part of the claim does the span cover?

  askCovered() {
    this.asking = true;
    byId("desk").classList.add("asking-covered");
    byId("covered-panel").hidden = false;
    getSelection().removeAllRanges();
    this.picker = new Picker({
      node: this.claim.firstChild,
      box: this.claim,
      announce: (text) => this.say(`Covered: ${text}`),
      onTake: (place) => this.setCovered(place) && this.finishCovered(),
      onLeave: () => undefined,
    });
    this.claim.focus({ preventScroll: true });
    // A part that was chosen before stays as it is, letter by letter, until it is chosen again.
    const before = this.covered ? this.task.claim_text.indexOf(this.covered) : -1;
    if (before >= 0) this.setCovered([before, before + this.covered.length]);
    else this.picker.enter(0);
    this.say("Which part of the claim does the span cover? Select it, then press Enter.");
  }

  takeCovered() {
    const place = selectedIn(this.claim.firstChild);
    if (place) this.setCovered(place);
  }

  setCovered([start, end]) {
    const text = this.task.claim_text.slice(start, end);
    if (text.trim() === this.task.claim_text.trim()) {
      this.say("That is the whole claim: if the span covers all of it, it is supported.", "warn");
      return false;
    }
    if (!text.trim()) return false;
    this.covered = text;
    paint("covered", this.claim.firstChild, [[start, end]]);
    byId("covered-shown").textContent = `“${text}”`;
    this.changed();
    return true;
  }

  finishCovered(event) {
    if (this.picker?.active && !this.setCovered(this.picker.place)) return;
    if (!this.covered) {
      this.say("Select the part of the claim that the span covers.", "warn");
      return;
    }
    this.choose("overreach", event, { asked: true });
  }

  leaveCovered() {
    if (!this.asking) return;
    this.asking = false;
    this.picker.leave();
    paint("covered", null, []);
    byId("covered-shown").textContent = "";
    byId("desk").classList.remove("asking-covered");
    byId("covered-panel").hidden = true;
    if (this.verdict === "overreach" && !this.covered) this.verdict = null;
    this.refresh();
  }

  // Keys. Returns whether the key was one of ours.

  press(event) {
    if (this.asking && this.pressCovered(event)) return true;
    if (this.sources?.picker?.active) return this.sources.picker.press(event) || isLetter(event);
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const button = this.buttons[Number(event.key) - 1];
    if (button) {
      button.classList.add("pressed");
      setTimeout(() => button.classList.remove("pressed"), 150);
      this.choose(button.dataset.verdict, event);
      return true;
    }
    return this.pressPlain(event);
  }

  pressCovered(event) {
    // On a button, Enter presses the button.
    if (event.target.closest?.("button") && (event.key === "Enter" || event.key === " ")) return false;
    if (event.key === "Escape") {
      this.leaveCovered();
      this.say("");
      return true;
    }
    if (this.picker.active) return this.picker.press(event);
    if (event.key === "Enter") {
      this.finishCovered(event);
      return true;
    }
    return event.key.startsWith("Arrow") && this.picker.enter(0);
  }

  pressPlain(event) {
    const actions = {
      "/": () => this.sources && !this.isAction && this.sources.field.select(),
      n: () => this.sources?.goToHit(1),
      N: () => this.sources?.goToHit(-1),
      s: () => (this.isAction ? byId("log").querySelector("button")?.focus() : this.startPicking()),
      "[": () => this.sources?.step(-1),
      "]": () => this.sources?.step(1),
      r: () => this.reason.focus(),
    };
    if (!actions[event.key]) return false;
    actions[event.key]();
    return true;
  }

  startPicking() {
    if (this.sources?.startPicking()) {
      this.say("Arrows move by word, Ctrl with arrows by sentence, Shift extends, Enter takes it, Esc leaves.");
    }
  }

  say(text, kind = "") {
    const status = byId("status");
    status.className = `status ${kind}`;
    status.textContent = text;
  }
}

const isLetter = (event) => event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;

export function shorten(text) {
  const line = text.replace(/\s+/g, " ");
  return line.length > 240 ? `${line.slice(0, 160)} … ${line.slice(-60)}` : line;
}

// Keys of the page: not while someone writes, not over a dialog, and not when they are turned off.
export function listenToKeys(handle) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.target.matches?.("input, textarea, select")) {
      if (event.key === "Escape" || (event.key === "Enter" && event.target.id === "reason")) event.target.blur();
      return;
    }
    const plain = event.key.length === 1 && !event.ctrlKey && !event.metaKey;
    if (plain && localStorage.getItem("claimwise.keys") === "off") return;
    // A key held down a moment too long must not label the next claim as well.
    if (event.repeat && (plain || event.key === "Enter")) return;
    if (handle(event)) event.preventDefault();
  });
}
