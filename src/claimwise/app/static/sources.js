// The sources beside a claim: a list, one of them open, search over all, and the chosen span.

import { PageText, Picker, paint, reveal } from "./picker.js";
import { render } from "./render.js";
import { WordIndex, findAll, sentenceAt, sentencePieces, toCodePoints, toUnits } from "./text.js";

const SEARCH_DELAY = 80; // ms after the last letter
const TOUCH_DELAY = 300; // ms after a finger last moved the selection

export class Sources {
  constructor({ onSpan, announce, staleWords = "No longer valid when the answer was given" }) {
    Object.assign(this, { onSpan, announce, staleWords });
    this.tabs = document.getElementById("source-tabs");
    this.heading = document.getElementById("sources-heading");
    this.box = document.getElementById("source-box");
    this.head = document.getElementById("source-head");
    this.text = document.getElementById("source-text");
    this.field = document.getElementById("search");
    this.count = document.getElementById("search-count");
    this.list = [];
    this.active = -1;
    this.span = null;
    this.hits = [];
    this.now = -1;
    this.listen();
  }

  listen() {
    let timer = 0;
    this.field.addEventListener("input", () => {
      this.typed = true;
      clearTimeout(timer);
      timer = setTimeout(() => this.search(this.field.value), SEARCH_DELAY);
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        clearTimeout(timer);
        // The first Enter stays at the first hit, however fast one types.
        if (this.searched !== this.field.value) this.search(this.field.value);
        else if (!this.typed) this.goToHit(event.shiftKey ? -1 : 1);
        this.typed = false;
      } else if (event.key === "ArrowDown") {
        event.preventDefault();
        clearTimeout(timer);
        if (this.searched !== this.field.value) this.search(this.field.value);
        this.field.blur();
        this.startPicking();
      } else if (event.key === "Escape") {
        event.preventDefault();
        this.field.blur();
      }
    });
    document.getElementById("hit-before").addEventListener("click", () => this.goToHit(-1));
    document.getElementById("hit-after").addEventListener("click", () => this.goToHit(1));
    this.tabs.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.step(step);
      this.tabs.children[this.active].focus();
    });
    document.getElementById("as-written")?.addEventListener("change", (event) => {
      this.text.classList.toggle("as-written", event.target.checked);
    });
    this.listenToPointer();
  }

  // A click takes the sentence under it; a mouse that drags takes words once its button is up. A finger
  // moves handles after it has selected, so what it selects is shown, and taken with a button.
  listenToPointer() {
    let pointer = false;
    let rest = 0;
    this.box.addEventListener("pointerdown", (event) => {
      pointer = event.pointerType === "mouse";
    });
    document.addEventListener("pointerup", () => {
      if (!pointer) return;
      pointer = false;
      setTimeout(() => this.takeSelection());
    });
    document.addEventListener("selectionchange", () => {
      clearTimeout(rest);
      if (!pointer && !this.picker?.active) rest = setTimeout(() => this.takeSelection({ final: false }), TOUCH_DELAY);
    });
    this.text.addEventListener("click", (event) => this.takeSentence(event));
  }

  takeSentence(event) {
    // The second click of two is the browser's: it selects a word. It may fall on the next claim already.
    if (event.detail > 1 || !getSelection().isCollapsed || !this.page) return;
    const at = this.page.placeAt(event.clientX, event.clientY);
    const place = at === null ? null : sentenceAt(this.page.text, at);
    if (!place) return;
    this.picker.leave();
    this.choose(place);
  }

  // Claims of one answer share their sources: those stay as they are, where they were scrolled to.
  show(sources, stale, cited = []) {
    this.clearSpan();
    this.clearSearch();
    this.stale = stale;
    this.cited = new Set(cited);
    const key = JSON.stringify(sources.map((one) => [one.source_id, one.source_text.length, one.shown]));
    if (key === this.key && sources.every((one, n) => one.source_text === this.list[n].source_text)) {
      this.markCited();
      return;
    }
    this.key = key;
    this.sentences = null;
    this.list = sources.map((one) => ({ ...one, scroll: null }));
    this.active = -1;
    this.tabs.replaceChildren(...this.list.map((one, n) => this.makeTab(one, n)));
    this.tabs.hidden = this.list.length < 2;
    this.heading.textContent = this.list.length < 2 ? "Sources" : `Sources (${this.list.length})`;
    this.markCited();
    const first = this.list.findIndex((one) => one.shown.length > 0);
    if (this.list.length) this.open(Math.max(first, 0));
    else {
      this.page = null;
      this.head.textContent = "";
      this.text.textContent = "";
    }
  }

  makeTab(source, n) {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.className = "tab";
    tab.id = `source-tab-${n}`;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "source-box");
    tab.append(make("span", "tab-number", String(n + 1)), make("span", "tab-name", source.title ?? source.source_id));
    tab.append(make("span", "tab-note tab-cited", "cited here"));
    if (source.shown.length) tab.append(make("span", "tab-note", "shown"));
    if (this.stale[source.source_id]) tab.append(make("span", "tab-note warn", "no longer valid"));
    tab.append(make("span", "tab-hits", ""));
    tab.addEventListener("click", () => this.open(n));
    return tab;
  }

  // A claim that is supported by a source it does not cite is cited wrongly: its own sources stand out.
  markCited() {
    for (const [n, tab] of Array.from(this.tabs.children).entries()) {
      tab.querySelector(".tab-cited").hidden = !this.cited.has(this.list[n].source_id);
    }
  }

  open(n) {
    if (n === this.active) return;
    this.picker?.leave();
    if (this.active >= 0) this.list[this.active].scroll = this.box.scrollTop;
    this.active = n;
    for (const [number, tab] of Array.from(this.tabs.children).entries()) {
      tab.setAttribute("aria-selected", String(number === n));
      tab.tabIndex = number === n ? 0 : -1;
    }
    // Of many tabs the open one is in sight; the page itself does not move.
    const tab = this.tabs.children[n];
    this.tabs.scrollTop = Math.max(0, tab.offsetTop - this.tabs.offsetTop + tab.offsetHeight - this.tabs.clientHeight);
    this.box.setAttribute("aria-labelledby", this.list.length > 1 ? `source-tab-${n}` : "sources-heading");
    const source = this.list[n];
    this.fillHead(source);
    const shown = render(source.source_text, source.url ?? source.source_id);
    this.text.replaceChildren(shown);
    this.page = new PageText(this.text);
    this.picker = new Picker({
      text: this.page,
      box: this.box,
      announce: this.announce,
      onTake: (place) => this.choose(place),
      onLeave: () => this.showMode(false),
    });
    paint("shown", this.page, source.shown.map(([a, b]) => [toUnits(source.source_text, a), toUnits(source.source_text, b)]));
    this.paintHits();
    this.paintSpan();
    this.onOpen?.();
    if (source.scroll !== null) this.box.scrollTop = source.scroll;
    else this.revealStart(source);
  }

  revealStart(source) {
    this.box.scrollTop = 0;
    const own = this.box.scrollHeight > this.box.clientHeight + 1;
    if (own && source.shown.length) {
      const start = toUnits(source.source_text, source.shown[0][0]);
      reveal(this.page, [start, start + 1], this.box);
    }
  }

  fillHead(source) {
    const parts = [make("h3", "source-title", source.title ?? source.source_id)];
    const facts = [];
    if (source.title) facts.push(source.source_id);
    if (source.url) facts.push(source.url);
    const [from, until] = [source.valid_from, source.valid_until];
    if (from && until) facts.push(`valid ${from} to ${until}`);
    else if (from) facts.push(`valid from ${from}`);
    else if (until) facts.push(`valid until ${until}`);
    if (facts.length) parts.push(make("p", "source-facts", facts.join(" · ")));
    const why = this.stale[source.source_id];
    if (why) parts.push(make("p", "source-stale", `${this.staleWords}: ${why}.`));
    if (!source.in_corpus) parts.push(make("p", "source-facts", "Only the passage that the system was shown is known."));
    else if (source.shown.length) parts.push(make("p", "source-facts", "Underlined with dots: what the system was shown."));
    this.head.replaceChildren(...parts);
  }

  step(by) {
    if (this.list.length) this.open((this.active + by + this.list.length) % this.list.length);
  }

  // Search

  clearSearch() {
    this.field.value = "";
    this.search("");
  }

  search(words) {
    this.searched = words;
    this.hits = this.list.flatMap((source, n) => findAll(source.source_text, words).map((place) => ({ n, place })));
    for (const [n, tab] of Array.from(this.tabs.children).entries()) {
      const own = this.hits.filter((hit) => hit.n === n).length;
      tab.querySelector(".tab-hits").textContent = own ? String(own) : "";
    }
    // The first hit in the source that is open, else the first of all.
    const here = this.hits.findIndex((hit) => hit.n === this.active);
    this.now = here >= 0 ? here : this.hits.length ? 0 : -1;
    this.paintHits();
    if (this.now >= 0) this.showHit();
    else this.count.textContent = words.trim() ? "not found" : "";
  }

  goToHit(step) {
    if (!this.hits.length) return;
    this.now = (this.now + step + this.hits.length) % this.hits.length;
    this.showHit();
  }

  showHit() {
    const hit = this.hits[this.now];
    if (hit.n !== this.active) this.open(hit.n);
    this.paintHits();
    reveal(this.page, hit.place, this.box);
    this.count.textContent = `${this.now + 1} of ${this.hits.length}`;
  }

  paintHits() {
    const here = this.hits.filter((hit) => hit.n === this.active).map((hit) => hit.place);
    paint("hit", this.page, here);
    const current = this.hits[this.now];
    paint("hit-now", this.page, current?.n === this.active ? [current.place] : []);
  }

  // The span

  startPicking() {
    if (!this.page) return false;
    const hit = this.hits[this.now];
    const own = this.span?.n === this.active ? this.span.place : null;
    const shown = this.list[this.active].shown[0];
    const start = shown ? toUnits(this.page.text, shown[0]) : 0;
    const at = own ?? (hit?.n === this.active ? hit.place : [start, start]);
    if (!this.picker.enter(...at)) return false;
    this.box.focus({ preventScroll: true });
    this.showMode(true);
    return true;
  }

  showMode(on) {
    document.getElementById("desk").classList.toggle("picking-source", on);
  }

  takeSelection({ final = true } = {}) {
    if (this.picker?.active) return;
    const place = this.page?.selected();
    if (!place) return;
    const same = this.span?.n === this.active && this.span.place[0] === place[0] && this.span.place[1] === place[1];
    if (!same) this.choose(place, { final });
  }

  // final: the labeler chose it and is done; else they may go on selecting.
  choose(place, { final = true, suggestion = 0, n = this.active } = {}) {
    if (n !== this.active) this.open(n);
    this.span = { n, place, suggestion };
    this.paintSpan();
    this.onSpan({ final });
  }

  // The sentences of all sources that are closest to a claim, as {n, place, text}. Sources that no longer
  // held are for “stale” alone, and that is for them.
  suggest(claim, verdict) {
    this.sentences ??= this.readSentences();
    const { list, index } = this.sentences;
    const isStale = (n) => Boolean(this.stale[this.list[list[n].n].source_id]);
    const allowed = (n) => verdict === "unlinked" || isStale(n) === (verdict === "stale");
    const prefer = (n) => list[n].shown || this.cited.has(this.list[list[n].n].source_id);
    return index.findClosest(claim, { allowed, prefer }).map((n) => list[n]);
  }

  readSentences() {
    const list = this.list.flatMap((source, n) => {
      const text = source.source_text;
      const shown = source.shown.map(([a, b]) => [toUnits(text, a), toUnits(text, b)]);
      return sentencePieces(text).map((place) => ({
        n,
        place,
        text: text.slice(...place),
        title: source.title ?? source.source_id,
        shown: shown.some(([a, b]) => place[0] < b && place[1] > a),
      }));
    });
    return { list, index: new WordIndex(list.map((one) => one.text)) };
  }

  // Puts back a span that was chosen before, by its place in characters.
  restore(sourceId, start, text) {
    const n = this.list.findIndex((one) => one.source_id === sourceId);
    if (n < 0 || start === null || start === undefined) return;
    const from = toUnits(this.list[n].source_text, start);
    if (this.list[n].source_text.slice(from, from + text.length) !== text) return;
    this.span = { n, place: [from, from + text.length], suggestion: 0 };
    this.open(n);
    this.paintSpan();
    reveal(this.page, this.span.place, this.box);
  }

  clearSpan() {
    this.picker?.leave();
    this.span = null;
    this.paintSpan();
  }

  paintSpan() {
    paint("chosen", this.page, this.span?.n === this.active ? [this.span.place] : []);
  }

  // The chosen span as the server takes it, or null.
  read() {
    if (!this.span) return null;
    const source = this.list[this.span.n];
    const [start, end] = this.span.place;
    return {
      source_id: source.source_id,
      span_start: toCodePoints(source.source_text, start),
      span_text: source.source_text.slice(start, end),
      stale: this.stale[source.source_id] ?? null,
      title: source.title ?? source.source_id,
      suggestion: this.span.suggestion,
    };
  }

  // Opens a source and shows a place in it, without choosing anything.
  look(n, place) {
    this.open(n);
    paint("looked-at", this.page, place ? [place] : []);
    if (place) reveal(this.page, place, this.box);
  }
}

export function make(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
