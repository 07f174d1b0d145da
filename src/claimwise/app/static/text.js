// Places in text. The server counts characters (code points), scripts count UTF-16 units: an emoji
// is one of the former and two of the latter.

const HIGH = (unit) => unit >= 0xd800 && unit <= 0xdbff;
const LOW = (unit) => unit >= 0xdc00 && unit <= 0xdfff;

export function toCodePoints(text, index) {
  let pairs = 0;
  // A second half adds nothing to its first: counting pairs by their end leaves index whole.
  for (let i = 1; i < index; i++) {
    if (LOW(text.charCodeAt(i)) && HIGH(text.charCodeAt(i - 1))) pairs += 1;
  }
  return index - pairs;
}

export function toUnits(text, offset) {
  let index = 0;
  for (let seen = 0; seen < offset && index < text.length; seen++) {
    index += HIGH(text.charCodeAt(index)) && LOW(text.charCodeAt(index + 1)) ? 2 : 1;
  }
  return index;
}

// Moves a border out of the middle of a pair, so that no half character is ever chosen.
export function wholeCharacter(text, index, direction) {
  const inside = LOW(text.charCodeAt(index)) && HIGH(text.charCodeAt(index - 1));
  return inside ? index + direction : index;
}

// Words and sentences are cut in a window around a place: a source may be a megabyte long.
const REACH = 4000;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });
const SENTENCES = new Intl.Segmenter(undefined, { granularity: "sentence" });
const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function windowAround(text, at) {
  let from = Math.max(0, at - REACH);
  while (from > 0 && from < at && !/\s/.test(text[from - 1])) from += 1;
  if (from === at) from = wholeCharacter(text, Math.max(0, at - REACH), 1);
  const to = wholeCharacter(text, Math.min(text.length, at + REACH), 1);
  return [from, to];
}

function cut(text, at, pieces) {
  const [from, to] = windowAround(text, at);
  return pieces(text.slice(from, to)).map(([start, end]) => [from + start, from + end]);
}

function wordPieces(text) {
  const found = [];
  for (const run of text.matchAll(/\S+/g)) {
    if (!UNSPACED.test(run[0])) {
      found.push([run.index, run.index + run[0].length]);
      continue;
    }
    for (const part of WORDS.segment(run[0])) {
      const start = run.index + part.index;
      // Marks stay with the word before them.
      if (!part.isWordLike && found.length && found.at(-1)[1] === start) {
        found.at(-1)[1] += part.segment.length;
      } else found.push([start, start + part.segment.length]);
    }
  }
  return found;
}

// A full stop that ends no sentence.
const ABBREVIATED = /(?:^|[\s(])(?:Dr|Mr|Mrs|Ms|Prof|St|No|Nos|Nr|vs|e\.g|i\.e|approx|ca|cf|bzw|z\.B|d\.h|Fig|Sec|Art|Abs)\.\s*$/;

// A line that was broken because it was long goes on in the next; the text keeps its length.
const soften = (text) =>
  text.replace(/^(?![#>|`+*-]|\d+[.)]\s)(.{50,}\r?)\n(?=[^\s#>|`+*-])/gm, "$1 ");

export function sentencePieces(text) {
  const found = [];
  for (const part of SENTENCES.segment(soften(text))) {
    const end = part.index + part.segment.trimEnd().length;
    const start = part.index + (part.segment.length - part.segment.trimStart().length);
    if (end <= start) continue;
    const last = found.at(-1);
    if (last && ABBREVIATED.test(text.slice(last[0], last[1])) && !text.slice(last[1], start).includes("\n")) last[1] = end;
    else found.push([start, end]);
  }
  return found.map((place) => withoutMarks(text, place)).filter(([start, end]) => end > start);
}

// A list's bullet, a heading's signs and a table's outer lines belong to no sentence.
function withoutMarks(text, [start, end]) {
  const piece = text.slice(start, end);
  const before = piece.match(/^(?:#{1,6}\s+|>\s+|[-*+]\s+|\d{1,3}[.)]\s+(?=\S)|\|\s*)+/)?.[0].length ?? 0;
  const after = piece.slice(before).match(/\s*\|$/)?.[0].length ?? 0;
  return [start + before, end - after];
}

function neighbour(pieces, at, direction) {
  if (direction > 0) return pieces.find(([start]) => start > at) ?? null;
  return pieces.findLast(([start]) => start < at) ?? null;
}

export function wordAt(text, at) {
  const pieces = cut(text, at, wordPieces);
  return pieces.find(([, end]) => end > at) ?? pieces.at(-1) ?? null;
}

export function wordBeside(text, word, direction) {
  return neighbour(cut(text, word[0], wordPieces), word[0], direction);
}

export function sentenceAt(text, at) {
  const pieces = cut(text, at, sentencePieces);
  return pieces.find(([, end]) => end > at) ?? pieces.at(-1) ?? null;
}

export function sentenceBeside(text, sentence, direction) {
  return neighbour(cut(text, sentence[0], sentencePieces), sentence[0], direction);
}

export function lastWordOf(text, [start, end]) {
  return cut(text, end, wordPieces).findLast(([at]) => at < end && at >= start) ?? [start, end];
}

export function graphemeBefore(text, end) {
  const from = wholeCharacter(text, Math.max(0, end - 64), 1);
  return from + (Array.from(GRAPHEMES.segment(text.slice(from, end))).at(-1)?.index ?? 0);
}

export function graphemeAfter(text, start) {
  const [first] = GRAPHEMES.segment(text.slice(start, start + 64));
  return start + (first?.segment.length ?? 0);
}

// All places of some words, whatever their case and the white space between them. A regular
// expression keeps the offsets, which lower-casing would not (“İ” grows).
const MOST_HITS = 5000;

export function findAll(text, words) {
  const asked = words.trim();
  if (!asked) return [];
  const escaped = asked.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&").replace(/\s+/g, "\\s+");
  const found = [];
  // Without “u”, escaped marks such as “\-” are allowed; pairs still match as they are written.
  for (const hit of text.matchAll(new RegExp(escaped, "gi"))) {
    found.push([hit.index, hit.index + hit[0].length]);
    if (found.length === MOST_HITS) break;
  }
  return found;
}

// A border inside a word moves to the word's end, so that nobody chooses half of one.
export function snapToWords(text, [start, end]) {
  const edge = (at) => {
    const [from, to] = windowAround(text, at);
    const part = WORDS.segment(text.slice(from, to)).containing(at - from);
    if (!part?.isWordLike || part.index === at - from) return null;
    return [from + part.index, from + part.index + part.segment.length];
  };
  let [first, last] = [edge(start)?.[0] ?? start, edge(end)?.[1] ?? end];
  while (first < last && /\s/.test(text[first])) first += 1;
  while (last > first && /\s/.test(text[last - 1])) last -= 1;
  return [first, last];
}

// Suggestions: the texts that share most words with a claim, rare words counting most. Long words are
// compared by their beginning, which needs no dictionary of any language.

const TOKEN = /[\p{L}\p{M}]+|\p{N}+(?:[.,:]\p{N}+)*/gu;
const STEM = 5;

function stem(word) {
  return word.length > STEM && !/\p{N}/u.test(word) ? word.slice(0, STEM) : word;
}

export function wordsOf(text) {
  const found = [];
  for (const hit of text.matchAll(TOKEN)) {
    const word = hit[0].toLowerCase();
    if (UNSPACED.test(word) && word.length > 2) {
      for (let i = 0; i < word.length - 1; i++) found.push(word.slice(i, i + 2));
    } else found.push(stem(word));
  }
  return found;
}

// Texts that suggestions are taken from, read once: claims of one answer share them.
export class WordIndex {
  constructor(texts) {
    this.texts = texts.map((text) => new Set(wordsOf(text)));
    this.holding = new Map();
    for (const words of this.texts) {
      for (const word of words) this.holding.set(word, (this.holding.get(word) ?? 0) + 1);
    }
  }

  weigh(word) {
    return Math.log(1 + this.texts.length / (this.holding.get(word) ?? this.texts.length));
  }

  // The numbers of the texts closest to a claim, the closest first; of equals, the earlier.
  findClosest(claim, { most = 3, allowed = () => true, prefer = () => false } = {}) {
    const asked = [...new Set(wordsOf(claim))];
    const scored = [];
    for (const [n, words] of this.texts.entries()) {
      if (!allowed(n)) continue;
      const shared = asked.filter((word) => words.has(word)).reduce((sum, word) => sum + this.weigh(word), 0);
      // Of two texts that share as much, the shorter one says it more plainly.
      if (shared > 0) scored.push([(shared * (prefer(n) ? 1.05 : 1)) / (1 + 0.06 * Math.log(1 + words.size)), n]);
    }
    return scored.sort((one, other) => other[0] - one[0] || one[1] - other[1]).slice(0, most).map(([, n]) => n);
  }
}

// Parts of a claim that a span may cover: the longest runs of words that both have, else its clauses.
export function findCoveredParts(claim, span, most = 3) {
  const held = new Set(wordsOf(span));
  const words = Array.from(claim.matchAll(TOKEN), (hit) => ({
    start: hit.index,
    end: hit.index + hit[0].length,
    light: hit[0].length < 5 && !/\p{N}/u.test(hit[0]),
    hit: wordsOf(hit[0]).every((word) => held.has(word)),
  }));
  const runs = listRuns(words);
  const clauses = Array.from(claim.matchAll(/[^,;:]+?(?=\s+(?:and|or|but|because|which|while|und|oder|aber|et|ou|y|e)\s|[,;:]|\s*[.!?]?$)/g));
  const places = [
    ...runs.sort((one, other) => other.hits - one.hits).map((run) => [run.start, run.end]),
    ...clauses.map((hit) => trimmed(claim, hit.index, hit.index + hit[0].length)),
  ];
  const whole = claim.replace(/[\s.!?]+$/, "").trim().length;
  const parts = places.filter(([start, end]) => end - start < whole && /[\p{L}\p{N}]/u.test(claim.slice(start, end)));
  return parts.filter(([a, b], n) => parts.findIndex(([c, d]) => a === c && b === d) === n).slice(0, most);
}

function trimmed(text, start, end) {
  while (start < end && !/[\p{L}\p{N}]/u.test(text[start])) start += 1;
  while (end > start && /\s/.test(text[end - 1])) end -= 1;
  return [start, end];
}

function listRuns(words) {
  const runs = [];
  let run = null;
  for (const word of words) {
    if (word.hit || (run && word.light)) {
      run ??= { start: word.start, end: word.end, hits: 0 };
      if (word.hit) run.end = word.end;
      run.hits += word.hit && !word.light ? 1 : 0;
    } else {
      if (run?.hits) runs.push(run);
      run = null;
    }
  }
  if (run?.hits) runs.push(run);
  return runs;
}
