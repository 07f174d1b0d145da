// Places in a text on the page, and how one chooses a piece of it by keyboard or mouse. A text may stand
// in many nodes (see render.js), which hold all of it in order: places count from its beginning, and are
// painted by highlights, which change nothing.

import {
  graphemeAfter, graphemeBefore, lastWordOf, sentenceAt, sentenceBeside, snapToWords, wholeCharacter, wordAt,
  wordBeside,
} from "./text.js";

// A text in the nodes under an element.
export class PageText {
  constructor(root) {
    this.root = root;
    this.nodes = [];
    this.starts = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    let text = "";
    while (walker.nextNode()) {
      this.nodes.push(walker.currentNode);
      this.starts.push(text.length);
      text += walker.currentNode.data;
    }
    this.text = text;
  }

  // The node at a place, and the place in it. The end of a piece is in the node before it.
  find(at, isEnd = false) {
    let [low, high] = [0, this.nodes.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (isEnd ? this.starts[middle] < at : this.starts[middle] <= at) low = middle;
      else high = middle - 1;
    }
    const node = this.nodes[low];
    return [node, Math.min(at - this.starts[low], node.length)];
  }

  range([start, end]) {
    const range = document.createRange();
    range.setStart(...this.find(start));
    range.setEnd(...this.find(end, end > start));
    return range;
  }

  // The place of a point that a browser names: a node and an offset, or an element between its children.
  placeOf(container, offset) {
    const own = this.nodes.indexOf(container);
    if (own >= 0) return this.starts[own] + offset;
    const point = document.createRange();
    point.setStart(container, offset);
    let [low, high] = [0, this.nodes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (point.comparePoint(this.nodes[middle], 0) < 0) low = middle + 1;
      else high = middle;
    }
    return low < this.nodes.length ? this.starts[low] : this.text.length;
  }

  // The place under a point of the screen, or null.
  placeAt(x, y) {
    let spot = document.caretPositionFromPoint?.(x, y);
    if (!spot) {
      const range = document.caretRangeFromPoint?.(x, y);
      spot = range && { offsetNode: range.startContainer, offset: range.startOffset };
    }
    const inside = spot && spot.offsetNode.nodeType === Node.TEXT_NODE && this.root.contains(spot.offsetNode);
    return inside ? this.placeOf(spot.offsetNode, spot.offset) : null;
  }

  // What the mouse (or a finger) has selected, as whole words; null when that is nothing of this text.
  selected() {
    const selection = getSelection();
    if (!this.nodes.length || selection.rangeCount === 0 || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(this.root)) return null;
    const edge = (container, offset, outside) =>
      this.root.contains(container) ? this.placeOf(container, offset) : outside;
    const start = wholeCharacter(this.text, edge(range.startContainer, range.startOffset, 0), -1);
    const end = wholeCharacter(this.text, edge(range.endContainer, range.endOffset, this.text.length), 1);
    if (end <= start) return null;
    const place = snapToWords(this.text, [start, end]);
    return place[1] > place[0] ? place : null;
  }
}

// Paints places of a text under a name; ::highlight(name) in desk.css says how.
export function paint(name, text, places) {
  if (!globalThis.CSS?.highlights) return;
  if (!text?.nodes.length || places.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, new Highlight(...places.map((place) => text.range(place))));
}

// Puts elements of their own around places of a text, one for each node there. From the last place to the
// first: what is split off a node comes after what is still to be found in it.
export function wrap(text, places, makeElement) {
  for (const [start, end] of places.toSorted((one, other) => other[0] - one[0])) {
    for (let n = text.nodes.length - 1; n >= 0; n--) {
      const node = text.nodes[n];
      const [from, to] = [Math.max(start, text.starts[n]), Math.min(end, text.starts[n] + node.length)];
      if (to <= from) continue;
      const range = document.createRange();
      range.setStart(node, from - text.starts[n]);
      range.setEnd(node, to - text.starts[n]);
      range.surroundContents(makeElement(text.text.slice(start, end)));
    }
  }
}

// Scrolls what scrolls, the text's own box or else the page, until a place is in view.
export function reveal(text, place, box) {
  const rect = text.range(place).getBoundingClientRect();
  const own = box.scrollHeight > box.clientHeight + 1 && getComputedStyle(box).overflowY !== "visible";
  const view = own ? box.getBoundingClientRect() : { top: 170, bottom: innerHeight - 240 };
  if (rect.top >= view.top + 24 && rect.bottom <= view.bottom - 24) return;
  const by = rect.top - view.top - (view.bottom - view.top) / 3;
  if (own) box.scrollTop += by;
  else scrollBy(0, by);
}

export class Picker {
  // The chosen words run from one word, where it began, to another, which moves.
  constructor({ text, box, onTake, onLeave, announce }) {
    Object.assign(this, { text, box, onTake, onLeave, announce });
    this.active = false;
  }

  get place() {
    return [Math.min(this.from[0], this.to[0]), Math.max(this.from[1], this.to[1])];
  }

  enter(at = 0, end = at) {
    const first = wordAt(this.text.text, at);
    if (!first) return false;
    this.active = true;
    this.from = first;
    this.to = end > first[1] ? lastWordOf(this.text.text, [at, end]) : first;
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
    paint("picking", this.text, [this.place]);
    paint("caret", this.text, [this.to]);
    reveal(this.text, this.to, this.box);
    this.announce(this.text.text.slice(...this.place));
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
    else if (step) this.moveTo(wordBeside(this.text.text, this.to, this.reading(step)), event.shiftKey);
    else return false;
    return true;
  }

  // The element around the word that moves.
  block() {
    return this.text.find(this.to[0])[0].parentElement;
  }

  // In a right-to-left text the left arrow goes on.
  reading(step) {
    return getComputedStyle(this.block()).direction === "rtl" ? -step : step;
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
    const text = this.text.text;
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
    const rects = this.text.range(this.to).getClientRects();
    const rect = step > 0 ? rects[rects.length - 1] : rects[0];
    const height = parseFloat(getComputedStyle(this.block()).lineHeight) || rect?.height;
    const at = rect && this.text.placeAt(rect.left + 2, rect.top + rect.height / 2 + step * height);
    if (at === null || at === undefined) this.moveSentence(step, extend);
    else this.moveTo(wordAt(this.text.text, at), extend);
  }

  // One character less, for a full stop or a quotation mark that does not belong to it.
  shorten() {
    const end = graphemeBefore(this.text.text, this.place[1]);
    if (end <= this.place[0]) return;
    const last = this.to[1] >= this.from[1] ? this.to : this.from;
    if (end <= last[0]) return;
    this.replace(last, [last[0], end]);
  }

  shortenStart() {
    const start = graphemeAfter(this.text.text, this.place[0]);
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
