// Shows a text as what it is: Markdown with its tables, code, JSON. Every character of the text stays in
// the page, in its order; signs such as “**” are hidden, never removed, and markup in the text is text.
// So a place in the page is a place in the text, letter by letter.

const MOST_MARKDOWN = 400_000; // characters: beyond that, plain text
const MOST_JSON = 200_000;
const CODE_NAME = /\.(?:py|js|ts|tsx|jsx|java|c|h|cpp|cs|go|rs|rb|php|sql|sh|ya?ml|toml|ini|xml|css|log|csv|tsv)$/i;

function element(tag, className, ...parts) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...parts);
  return made;
}

const hidden = (text) => element("span", "sign", text);

// Renders a text; its name (an address or a file's name) may tell that it is code.
export function render(text, name = "") {
  const box = element("div", "rendered");
  if (CODE_NAME.test(name)) box.append(element("pre", "md-code", text));
  else if (isJson(text)) renderJson(box, text);
  else if (text.length > MOST_MARKDOWN) box.append(element("div", "md-p", text));
  else renderMarkdown(box, text);
  return box;
}

// Markdown, line by line

const FENCE = /^ {0,3}(```+|~~~+)/;
const HEADING = /^(#{1,6}[ \t]+)\S/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,3}[.)])([ \t]+)(?=\S)/;
const QUOTE = /^\s{0,3}>[ \t]?/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

function renderMarkdown(box, text) {
  const lines = text.match(/[^\n]*\n|[^\n]+/g) ?? [];
  for (let at = 0; at < lines.length; ) {
    const [made, next] = readFence(lines, at) ?? readTable(lines, at) ?? readLine(lines, at) ?? readParagraph(lines, at);
    box.append(made);
    at = next;
  }
}

function readFence(lines, at) {
  const opened = lines[at].match(FENCE);
  if (!opened) return null;
  const sign = opened[1];
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(sign) && !lines[end].trim().slice(sign.length).trim())) end += 1;
  const code = element("pre", "md-code", hidden(lines[at]), lines.slice(at + 1, end).join(""));
  if (end < lines.length) code.append(hidden(lines[end]));
  return [code, Math.min(end + 1, lines.length)];
}

function isTable(lines, at) {
  const divider = lines[at + 1];
  return lines[at].includes("|") && divider?.includes("|") && divider.includes("-") && DIVIDER.test(divider);
}

function readTable(lines, at) {
  if (!isTable(lines, at)) return null;
  const table = element("table", "md-table", makeRow(lines[at], "th"));
  const divider = element("tr", "sign", element("td", "", lines[at + 1]));
  table.append(divider);
  let end = at + 2;
  for (; end < lines.length && lines[end].includes("|") && lines[end].trim(); end++) table.append(makeRow(lines[end], "td"));
  return [element("div", "md-wide", table), end];
}

function makeRow(line, tag) {
  const body = line.trimEnd();
  const cells = body.split(/(?<!\\)\|/);
  let sign = body.trimStart().startsWith("|") ? `${cells.shift()}|` : "";
  const closed = cells.length > 1 && !cells.at(-1) && cells.pop() === "";
  const row = document.createElement("tr");
  for (const [n, cell] of cells.entries()) {
    const words = cell.trim();
    const start = cell.length - cell.trimStart().length;
    const made = element(tag, "");
    if (sign || start) made.append(hidden(sign + cell.slice(0, start)));
    renderInline(made, words);
    const last = n === cells.length - 1;
    made.append(hidden(cell.slice(start + words.length) + (last && !closed ? "" : "|") + (last ? line.slice(body.length) : "")));
    row.append(made);
    sign = "";
  }
  return row;
}

function readLine(lines, at) {
  const line = lines[at];
  if (!line.trim()) return [element("span", "gap", line), at + 1];
  const heading = line.match(HEADING);
  if (heading) return [makeBlock(`md-h md-h${Math.min(3, heading[1].trim().length)}`, heading[1], line.slice(heading[1].length)), at + 1];
  if (RULE.test(line)) return [element("div", "md-rule", hidden(line)), at + 1];
  const quote = line.match(QUOTE);
  if (quote) return [makeBlock("md-quote", quote[0], line.slice(quote[0].length)), at + 1];
  const item = line.match(ITEM);
  if (!item) return null;
  const depth = Math.min(3, Math.floor(item[1].replace(/\t/g, "  ").length / 2));
  const numbered = /\d/.test(item[2]);
  const made = makeBlock(`md-item ${numbered ? "" : "md-bullet "}md-depth${depth}`, numbered ? item[1] : item[0], "");
  if (numbered) made.append(item[2] + item[3]);
  let end = at + 1;
  while (end < lines.length && /^\s+\S/.test(lines[end]) && !startsBlock(lines, end)) end += 1;
  renderInline(made, line.slice(item[0].length) + lines.slice(at + 1, end).join(""));
  return [made, end];
}

function makeBlock(className, sign, words) {
  const made = element("div", className);
  made.dir = "auto";
  if (sign) made.append(hidden(sign));
  renderInline(made, words);
  return made;
}

function startsBlock(lines, at) {
  const line = lines[at];
  return !line.trim() || [FENCE, HEADING, RULE, QUOTE, ITEM].some((kind) => kind.test(line)) || isTable(lines, at);
}

function readParagraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && !startsBlock(lines, end)) end += 1;
  return [makeBlock("md-p", "", lines.slice(at, end).join("")), end];
}

// Within a line: code, strong, emphasis, links. A span is short, so that no text takes long to read.
const INLINE = new RegExp(
  [
    "(`+)([^`\\n]{1,500}?)\\1(?!`)",
    "(\\*\\*|__)(?=\\S)([^\\n]{1,500}?\\S)\\3",
    "(?<![\\p{L}\\p{N}*])(\\*)(?=[^\\s*])([^*\\n]{0,500}?[^\\s*])\\*(?![\\p{L}\\p{N}*])",
    "(?<![\\p{L}\\p{N}_])(_)(?=[^\\s_])([^_\\n]{0,500}?[^\\s_])_(?![\\p{L}\\p{N}_])",
    "(!?\\[)([^\\]\\n]{1,300})\\]\\(([^()\\s]{1,500})\\)",
  ].join("|"),
  "gu",
);

function renderInline(box, text) {
  let from = 0;
  for (const hit of text.matchAll(INLINE)) {
    if (hit.index > from) box.append(text.slice(from, hit.index));
    from = hit.index + hit[0].length;
    const kinds = [["code", 1, 2], ["strong", 3, 4], ["em", 5, 6], ["em", 7, 8], ["span", 9, 10]];
    const [tag, sign, words] = kinds.find(([, n]) => hit[n] !== undefined);
    const close = hit[0].slice(hit[sign].length + hit[words].length);
    box.append(element(tag, tag === "span" ? "md-link" : "", hidden(hit[sign]), hit[words], hidden(close)));
  }
  if (from < text.length) box.append(text.slice(from));
}

// JSON: laid out by its brackets and commas

function isJson(text) {
  if (text.length > MOST_JSON || !/^\s*[[{]/.test(text)) return false;
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

function renderJson(box, text) {
  const open = [element("div", "json")];
  box.append(open[0]);
  let row = null;
  const write = (part) => {
    if (!row) {
      row = element("div", "json-row");
      open.at(-1).append(row);
    }
    row.append(part);
  };
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+|\s+/g) ?? [];
  for (const [n, token] of tokens.entries()) {
    if (/^\s/.test(token)) (row ?? open.at(-1)).append(element("span", "gap", token));
    else if (token === "{" || token === "[") {
      write(token);
      const block = element("div", "json-block");
      row.append(block);
      open.push(block);
      row = null;
    } else if (token === "}" || token === "]") {
      row = open.pop().parentElement;
      row.append(token);
    } else {
      const key = token.startsWith('"') && tokens.slice(n + 1, n + 3).find((one) => one.trim()) === ":";
      write(key ? element("span", "json-key", token) : token);
      if (token === ",") row = null;
      else if (token === ":") row.append(element("span", "json-space"));
    }
  }
}
