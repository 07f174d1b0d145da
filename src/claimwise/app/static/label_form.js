// One claim on the desk: first its verdict, then the text that shows it. Each step says what it wants and
// offers three texts by the words they share with the claim, none of them chosen beforehand.

import { PageText, Picker, paint, wrap } from "./picker.js";
import { render } from "./render.js";
import { Sources, make } from "./sources.js";
import { WordIndex, findCoveredParts, toUnits } from "./text.js";

const OFFER_KEYS = ["q", "w", "e"]; // under 1, 2, 3; digits are verdicts at any time
const ASKING = {
  supported: "Which text supports it?",
  overreach: "Which text supports a part of it?",
  contradicted: "Which text says otherwise?",
  stale: "Which text says it, in a source that was no longer valid?",
};
const HOW = "Click a sentence, drag over words, or take one:";
const byId = (id) => document.getElementById(id);
const words = (verdict) => verdict.replace("_", " ");

export class LabelForm {
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
      onSpan: (how) => this.tookEvidence(how),
    });
    this.listen();
  }

  listen() {
    for (const button of this.buttons) {
      button.addEventListener("click", (event) => this.choose(button.dataset.verdict, event));
    }
    this.reason.addEventListener("input", () => this.changed());
    byId("evidence-clear")?.addEventListener("click", () => this.clearEvidence());
    byId("step-save")?.addEventListener("click", (event) => this.confirm(event));
    byId("step-cancel")?.addEventListener("click", () => this.leaveVerdict());
    this.claim.addEventListener("pointerdown", () => this.picker?.leave());
    document.addEventListener("selectionchange", () => this.takeCovered());
    // A mouse is done when its button is up; a finger still moves the handles.
    this.claim.addEventListener("pointerup", (event) => {
      if (event.pointerType === "mouse") setTimeout(() => this.covered && this.takeCovered() && this.advance());
    });
  }

  // Showing

  show(payload, draft) {
    this.task = payload.task;
    this.stale = payload.stale;
    this.entry = null;
    this.covered = null;
    this.verdict = null;
    this.offered = 0; // how many suggestions were shown
    this.taken = 0;
    this.picker?.leave();
    this.picker = null;
    getSelection().removeAllRanges();
    const task = this.task;
    this.isAction = task.claim_type === "action";
    this.claim.textContent = task.claim_text;
    this.claimText = new PageText(this.claim);
    byId("claim-note").textContent = this.isAction ? "says what the system did" : "";
    byId("question").textContent = task.query;
    this.fillAnswer();
    this.reason.value = "";
    this.reason.readOnly = this.fixed;
    if (this.sources) this.fillSources();
    if (draft) this.restore(draft);
    this.refresh();
    scrollTo(0, 0);
    this.claim.focus({ preventScroll: true });
  }

  fillSources() {
    const { task } = this;
    byId("sources-part").hidden = this.isAction;
    byId("log-part").hidden = !this.isAction;
    this.sources.show(this.isAction ? [] : task.sources, this.stale, task.cited);
    paint("looked-at", null, []);
    byId("no-sources").hidden = this.isAction || task.sources.length > 0;
    this.fillLog();
  }

  // The answer with the claim's place marked, and its citations leading to their sources. Texts are set,
  // never parsed: markup in them is text.
  fillAnswer() {
    const { answer_text: text, answer_start: from, answer_end: to, markers } = this.task;
    const answer = byId("answer");
    answer.replaceChildren(render(text));
    if (from !== null && to !== null) {
      wrap(new PageText(answer), [[toUnits(text, from), toUnits(text, to)]], () => make("mark"));
    }
    const cited = Array.from(text.matchAll(/\[[^[\]\n]{1,40}\]/g))
      .filter((hit) => Object.hasOwn(markers, hit[0]))
      .map((hit) => [hit.index, hit.index + hit[0].length]);
    if (this.sources) wrap(new PageText(answer), cited, (marker) => this.makeCitation(markers[marker]));
    const mark = answer.querySelector("mark");
    if (mark) answer.scrollTop = Math.max(0, mark.offsetTop - answer.offsetTop - answer.clientHeight / 2);
  }

  makeCitation(sourceId) {
    const button = make("button", "citation");
    button.type = "button";
    const n = this.task.sources.findIndex((one) => one.source_id === sourceId);
    button.title = n < 0 ? `${sourceId} is not among the sources` : `Open source ${n + 1}`;
    button.addEventListener("click", () => {
      if (n < 0) this.say(`${sourceId} is not among the sources.`, "warn");
      else {
        this.sources.look(n);
        byId("sources-part").scrollIntoView({ block: "nearest" });
      }
    });
    return button;
  }

  fillLog() {
    const list = byId("log");
    const made = this.task.action_log.map((entry) => {
      const button = make("button", "log-entry");
      button.type = "button";
      button.setAttribute("aria-pressed", String(entry.entry_id === this.entry));
      button.append(make("span", "log-time", entry.logged_at ? entry.logged_at.replace("T", " ") : ""));
      button.append(make("span", "log-text", entry.entry_text));
      button.addEventListener("click", () => this.takeEntry(this.entry === entry.entry_id ? null : entry.entry_id));
      const item = make("li");
      item.append(button);
      return item;
    });
    list.replaceChildren(...made);
    byId("no-log").hidden = made.length > 0;
  }

  takeEntry(entryId, suggestion = 0) {
    this.entry = entryId;
    this.taken = suggestion;
    this.fillLog();
    const place = this.task.action_log.findIndex((one) => one.entry_id === entryId);
    if (place >= 0) byId("log").querySelectorAll("button")[place].focus({ preventScroll: true });
    this.tookEvidence({ final: true });
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

  // What was chosen

  get evidence() {
    if (!this.sources) return null;
    const entry = this.task?.action_log.find((one) => one.entry_id === this.entry);
    if (entry) return { text: entry.entry_text, title: "log entry" };
    const span = this.sources.read();
    return span && { text: span.span_text, ...span };
  }

  clearEvidence() {
    getSelection().removeAllRanges(); // else it is taken again once it has rested
    this.sources.clearSpan();
    this.entry = null;
    this.covered = null;
    this.fillLog();
    this.changed();
    this.claim.focus({ preventScroll: true });
  }

  tookEvidence({ final }) {
    this.changed();
    const chosen = this.evidence;
    if (!chosen) this.say("Nothing chosen.");
    else if (!this.verdict) this.say(`Chosen: ${shorten(chosen.text)}`);
    else if (final) this.advance();
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
    if (!bare && this.offered) choice.suggestion = this.entry !== null ? this.taken : (span?.suggestion ?? 0);
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

  // Steps

  // What the verdict still wants: "verdict", "evidence", "covered", "confirm"; "done" when nothing.
  get step() {
    if (!this.task || !this.verdict) return "verdict";
    if (!this.sources) return "done";
    if (this.verdict === "unlinked") return "confirm";
    if (!this.evidence || this.findProblem()) return "evidence";
    return this.verdict === "overreach" && !this.covered ? "covered" : "done";
  }

  // Why the verdict and the text don't go together, in a sentence; null when they do.
  findProblem() {
    const chosen = this.evidence;
    if (this.isAction && this.verdict === "stale") return "Stale is for sources: a log entry does not expire.";
    if (this.isAction && !this.task.action_log.length) return "The log has no entry: the claim is unlinked.";
    if (!chosen || this.isAction) return null;
    if (this.verdict === "stale" && !chosen.stale) {
      return `Stale is for sources that were no longer valid; “${chosen.title}” was valid.`;
    }
    if (this.verdict === "supported" && chosen.stale) {
      return `“${chosen.title}” was no longer valid (${chosen.stale}): choose stale, or a text in a valid source.`;
    }
    return null;
  }

  choose(verdict, event) {
    if (!this.task) return;
    if (this.fixed) {
      this.say("The round is closed: labels given in it stay as they are.", "warn");
      return;
    }
    this.verdict = verdict;
    if (verdict !== "overreach") this.covered = null;
    this.changed();
    this.advance(event);
  }

  // Goes on to the next step, or saves when there is none.
  advance(event) {
    if (this.fixed) return;
    const { step } = this;
    const problem = this.verdict && this.sources ? this.findProblem() : null;
    if (problem) this.say(problem, "warn");
    else if (step === "done") {
      this.picker?.leave();
      this.onChoice(this.read(), event);
    } else if (step === "covered") this.askCovered();
    else this.say("");
  }

  // Enter, or the button: saves what lacks nothing; unlinked wants nothing but this.
  confirm(event) {
    if (this.step === "covered" && this.picker?.active && !this.setCovered(this.picker.place)) return;
    if (this.step === "confirm" || this.step === "done") {
      this.picker?.leave();
      this.onChoice(this.read(), event);
    } else this.advance(event);
  }

  leaveVerdict() {
    this.picker?.leave();
    this.verdict = null;
    this.covered = null;
    this.say("");
    this.changed();
    this.claim.focus({ preventScroll: true });
  }

  // The panel under the verdicts

  refresh() {
    for (const button of this.buttons) {
      button.setAttribute("aria-pressed", String(this.verdict === button.dataset.verdict));
      if (this.fixed) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
    if (!this.sources) return;
    const { step } = this;
    byId("desk").dataset.step = step;
    const chosen = this.evidence;
    byId("evidence").replaceChildren(...(chosen ? [this.makeQuote(chosen)] : []));
    byId("evidence-clear").hidden = !chosen || this.fixed;
    byId("step-text").textContent = this.describeStep(step, chosen);
    this.fillOffers(step);
    byId("step-save").hidden = this.fixed || !(step === "confirm" || step === "done");
    byId("step-save").firstChild.data = this.verdict ? `Save ${words(this.verdict)} ` : "Save ";
    byId("step-cancel").hidden = this.fixed || step === "verdict";
    paint("covered", step === "covered" || this.covered ? this.claimText : null, this.placeCovered());
  }

  makeQuote(chosen) {
    const quote = make("q", "", shorten(chosen.text));
    quote.dir = "auto";
    const line = make("span");
    line.append(quote, ` ${chosen.title}`);
    return line;
  }

  describeStep(step, chosen) {
    if (step === "evidence" && this.isAction) return "Which log entry shows it?";
    if (step === "evidence") return `${ASKING[this.verdict]} ${HOW}`;
    if (step === "covered") return "Which part of the claim does it cover? Select it in the claim, or take one:";
    if (step === "confirm") return this.isAction ? "No entry shows it?" : "No source says it? These come closest:";
    if (step === "verdict" && !chosen) return this.fixed ? "" : "Choose a verdict. Then choose the text that shows it.";
    return "";
  }

  fillOffers(step) {
    const offers = this.listOffers(step);
    if (step === "evidence") this.offered = Math.max(this.offered, offers.length);
    byId("offers").replaceChildren(...offers.map((offer, n) => this.makeOffer(offer, n, step)));
  }

  listOffers(step) {
    if (step === "covered") {
      const text = this.task.claim_text;
      return findCoveredParts(text, this.evidence.text).map((place) => ({
        text: text.slice(...place),
        take: () => this.setCovered(place) && this.advance(),
      }));
    }
    if (step !== "evidence" && step !== "confirm") return [];
    return this.isAction ? this.offerEntries(step) : this.offerSentences(step);
  }

  offerSentences(step) {
    return this.sources.suggest(this.task.claim_text, this.verdict).map((one, n) => ({
      text: one.text,
      title: one.title,
      take: () =>
        step === "confirm"
          ? this.sources.look(one.n, one.place)
          : this.sources.choose(one.place, { n: one.n, suggestion: n + 1 }),
    }));
  }

  offerEntries(step) {
    const log = this.task.action_log;
    const index = new WordIndex(log.map((one) => one.entry_text));
    if (step === "confirm" || this.verdict === "stale") return [];
    return index.findClosest(this.task.claim_text).map((at, n) => ({
      text: log[at].entry_text,
      take: () => this.takeEntry(log[at].entry_id, n + 1),
    }));
  }

  makeOffer(offer, n, step) {
    const button = make("button", "offer");
    button.type = "button";
    button.setAttribute("aria-keyshortcuts", OFFER_KEYS[n]);
    const text = make("span", "offer-text", shorten(offer.text));
    text.dir = "auto";
    button.append(make("kbd", "", OFFER_KEYS[n]), text);
    if (offer.title) button.append(make("span", "offer-from", step === "confirm" ? `Look in ${offer.title}` : offer.title));
    button.addEventListener("click", () => offer.take());
    const item = make("li");
    item.append(button);
    return item;
  }

  // Overreach: which part of the claim does the text cover?

  askCovered() {
    getSelection().removeAllRanges();
    this.picker = new Picker({
      text: this.claimText,
      box: this.claim,
      announce: (text) => this.say(`Covered: ${text}`),
      onTake: (place) => this.setCovered(place) && this.advance(),
      onLeave: () => undefined,
    });
    this.claim.focus({ preventScroll: true });
    this.say("");
  }

  takeCovered() {
    if (this.verdict !== "overreach" || !this.picker || this.picker.active) return false;
    const place = this.claimText.selected();
    return place !== null && this.setCovered(place);
  }

  isPart([start, end]) {
    const part = this.task.claim_text.slice(start, end);
    if (part.trim() === this.task.claim_text.trim()) {
      this.say("That is the whole claim: if the text covers all of it, it is supported.", "warn");
      return false;
    }
    return Boolean(part.trim());
  }

  setCovered(place) {
    if (!this.isPart(place)) return false;
    this.covered = this.task.claim_text.slice(...place);
    this.changed();
    return true;
  }

  placeCovered() {
    const at = this.covered ? this.task.claim_text.indexOf(this.covered) : -1;
    return at < 0 ? [] : [[at, at + this.covered.length]];
  }

  // Keys. Returns whether the key was one of ours.

  press(event) {
    if (this.sources?.picker?.active) return this.sources.picker.press(event) || isLetter(event);
    if (this.step === "covered" && this.pressCovered(event)) return true;
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const button = this.buttons[Number(event.key) - 1];
    if (button) {
      this.choose(button.dataset.verdict, event);
      return true;
    }
    return this.pressStep(event) || this.pressPlain(event);
  }

  pressStep(event) {
    const offer = byId("offers")?.children[OFFER_KEYS.indexOf(event.key.toLowerCase())];
    const saves = event.key === "Enter" && !event.target.closest?.("button, a");
    if (offer && !this.fixed) offer.firstElementChild.click();
    else if (saves && (this.step === "confirm" || this.step === "done") && this.sources && !this.fixed) this.confirm(event);
    else if (event.key === "Escape" && this.verdict && !this.fixed) this.leaveVerdict();
    else return false;
    return true;
  }

  pressCovered(event) {
    if (this.picker?.active) return this.picker.press(event);
    if (!event.key.startsWith("Arrow")) return false;
    if (!this.picker) this.askCovered();
    return this.picker.enter(0) && (!event.shiftKey || this.picker.press(event));
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
    if (event.target.matches?.("input:not([type=checkbox]), textarea, select")) {
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

// Dialogs: rules and keys, and the reasons to skip. The browser closes them with Esc and gives the focus back.

export function openDialog(id, verdict) {
  const dialog = byId(id);
  if (dialog.open) return;
  dialog.showModal();
  if (verdict) dialog.querySelector(`[data-rule-of="${verdict}"]`)?.scrollIntoView();
}

export function connectDialogs({ skip }) {
  for (const button of document.querySelectorAll("dialog [data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  const keys = byId("keys-on");
  if (keys) {
    keys.checked = localStorage.getItem("claimwise.keys") !== "off";
    keys.addEventListener("change", () => localStorage.setItem("claimwise.keys", keys.checked ? "on" : "off"));
  }
  if (skip) connectSkip(skip);
}

function connectSkip(skip) {
  const dialog = byId("skip-dialog");
  const form = dialog.querySelector("form");
  const own = byId("skip-own");
  dialog.addEventListener("keydown", (event) => {
    const choices = form.elements.reason;
    if (event.target !== own && /^[1-9]$/.test(event.key) && choices[Number(event.key) - 1]) {
      event.preventDefault();
      choices[Number(event.key) - 1].checked = true;
      choices[Number(event.key) - 1].focus();
      if (choices[Number(event.key) - 1].value === "") own.focus();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = form.elements.reason.value;
    const words = own.value.trim();
    const reason = chosen && words ? `${chosen}: ${words}` : chosen || words;
    if (!reason) {
      byId("skip-why").textContent = "Choose a reason, or write one.";
      return;
    }
    form.reset();
    byId("skip-why").textContent = "";
    dialog.close();
    skip(reason);
  });
}
