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

function sentencePieces(text) {
  return Array.from(SENTENCES.segment(text), (part) => {
    const length = part.segment.trimEnd().length;
    return [part.index, part.index + length];
  }).filter(([start, end]) => end > start);
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
