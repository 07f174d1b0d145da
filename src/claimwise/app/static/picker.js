// Chooses a piece of a text by keyboard or mouse. The text is one text node, painted by highlights
// and never changed, so that a choice is letter by letter what stands there.

import {
  graphemeAfter, graphemeBefore, lastWordOf, sentenceAt, sentenceBeside, wholeCharacter, wordAt,
  wordBeside,
} from "./text.js";

export function rangeOf(node, [start, end]) {
  const range = document.createRange();
  range.setStart(node, Math.min(start, node.length));
  range.setEnd(node, Math.min(end, node.length));
  return range;
}

// Paints places of a text under a name; ::highlight(name) in desk.css says how.
export function paint(name, node, places) {
  if (!globalThis.CSS?.highlights) return;
  if (!node || places.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, new Highlight(...places.map((place) => rangeOf(node, place))));
}

// Scrolls what scrolls, the text's own box or else the page, until a place is in view.
export function reveal(node, place, box) {
  const rect = rangeOf(node, place).getBoundingClientRect();
  const own = box.scrollHeight > box.clientHeight + 1;
  const view = own ? box.getBoundingClientRect() : { top: 90, bottom: innerHeight - 190 };
  if (rect.top >= view.top + 24 && rect.bottom <= view.bottom - 24) return;
  const by = rect.top - view.top - (view.bottom - view.top) / 3;
  if (own) box.scrollTop += by;
  else scrollBy(0, by);
}

// What the mouse (or a finger) has selected of a text, as [start, end], or null.
export function selectedIn(node) {
  const selection = getSelection();
  if (!node || selection.rangeCount === 0 || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!range.intersectsNode(node)) return null;
  // What hangs over into other text does not count.
  const start = range.startContainer === node ? range.startOffset : before(range, node) ? 0 : node.length;
  const end = range.endContainer === node ? range.endOffset : node.length;
  if (end <= start) return null;
  return [wholeCharacter(node.data, start, -1), wholeCharacter(node.data, end, 1)];
}

function before(range, node) {
  return range.comparePoint(node, 0) >= 0;
}

export class Picker {
  // The chosen words run from one word, where it began, to another, which moves.
  constructor({ node, box, onTake, onLeave, announce }) {
    Object.assign(this, { node, box, onTake, onLeave, announce });
    this.active = false;
  }

  get place() {
    return [Math.min(this.from[0], this.to[0]), Math.max(this.from[1], this.to[1])];
  }

  enter(at = 0, end = at) {
    const first = wordAt(this.node.data, at);
    if (!first) return false;
    this.active = true;
    this.from = first;
    this.to = end > first[1] ? lastWordOf(this.node.data, [at, end]) : first;
    this.show();
    return true;
  }

  leave() {
    if (!this.active) return;
    this.active = false;
    paint("picking", null, []);
    paint("caret", null, []);
    this.onLeave?.();
  }

  show() {
    paint("picking", this.node, [this.place]);
    paint("caret", this.node, [this.to]);
    reveal(this.node, this.to, this.box);
    this.announce(this.node.data.slice(...this.place));
  }

  // Returns whether the key was one of ours.
  press(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.leave();
    else if (event.key === "Enter") this.take();
    else if (event.key === "Backspace") this.shorten();
    else if (event.key === "Delete") this.shortenStart();
    else if (step && (event.key === "ArrowUp" || event.key === "ArrowDown")) this.moveLine(step, event.shiftKey);
    else if (step && (event.ctrlKey || event.metaKey)) this.moveSentence(this.reading(step), event.shiftKey);
    else if (step) this.moveTo(wordBeside(this.node.data, this.to, this.reading(step)), event.shiftKey);
    else return false;
    return true;
  }

  // In a right-to-left text the left arrow goes on.
  reading(step) {
    return getComputedStyle(this.node.parentElement).direction === "rtl" ? -step : step;
  }

  take() {
    const place = this.place;
    this.leave();
    this.onTake(place);
  }

  moveTo(word, extend) {
    if (!word) return;
    this.to = word;
    if (!extend) this.from = word;
    this.show();
  }

  moveSentence(step, extend) {
    const text = this.node.data;
    const here = sentenceAt(text, this.to[0]);
    const there = sentenceBeside(text, here, step);
    if (extend && step > 0) {
      const last = lastWordOf(text, here);
      this.moveTo(this.to[1] < last[1] || !there ? last : lastWordOf(text, there), true);
    } else if (step < 0) {
      const first = wordAt(text, here[0]);
      this.moveTo(this.to[0] > first[0] || !there ? first : wordAt(text, there[0]), extend);
    } else if (there) this.moveTo(wordAt(text, there[0]), false);
  }

  moveLine(step, extend) {
    const rects = rangeOf(this.node, this.to).getClientRects();
    const rect = step > 0 ? rects[rects.length - 1] : rects[0];
    const height = parseFloat(getComputedStyle(this.node.parentElement).lineHeight) || rect.height;
    const at = rect && placeAt(this.node, rect.left + 2, rect.top + rect.height / 2 + step * height);
    if (at === null || at === undefined) this.moveSentence(step, extend);
    else this.moveTo(wordAt(this.node.data, at), extend);
  }

  // One character less, for a full stop or a quotation mark that does not belong to it.
  shorten() {
    const end = graphemeBefore(this.node.data, this.place[1]);
    if (end <= this.place[0]) return;
    const last = this.to[1] >= this.from[1] ? this.to : this.from;
    if (end <= last[0]) return;
    this.replace(last, [last[0], end]);
  }

  shortenStart() {
    const start = graphemeAfter(this.node.data, this.place[0]);
    const first = this.to[0] <= this.from[0] ? this.to : this.from;
    if (start >= first[1]) return;
    this.replace(first, [start, first[1]]);
  }

  replace(word, other) {
    const both = this.from === this.to;
    if (this.to === word) this.to = other;
    if (both || this.from === word) this.from = other;
    this.show();
  }
}

function placeAt(node, x, y) {
  if (document.caretPositionFromPoint) {
    const spot = document.caretPositionFromPoint(x, y);
    return spot?.offsetNode === node ? spot.offset : null;
  }
  const range = document.caretRangeFromPoint?.(x, y);
  return range?.startContainer === node ? range.startOffset : null;
}
