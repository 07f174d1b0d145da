// The spans a right answer rests on, of an item that is there or of one that is written here: choose as
// many as it takes, say which are needed, save.

import { get, post, readData } from "./api.js";
import { listenToKeys, shorten } from "./label_form.js";
import { Sources, make } from "./sources.js";

const data = readData("desk-data");
const byId = (id) => document.getElementById(id);
const chosen = data.spans.map((span) => ({ ...span }));
let changed = false;

const sources = new Sources({
  announce: (text) => say(`Selected: ${text}`),
  onSpan: ({ final }) => final && add(),
  staleWords: "No longer holds",
});

function say(text, kind = "") {
  byId("status").className = `status ${kind}`;
  byId("status").textContent = text;
}

function add() {
  const { source_id, span_start, span_text } = sources.read();
  sources.clearSpan();
  getSelection().removeAllRanges();
  if (chosen.some((one) => one.source_id === source_id && one.span_start === span_start && one.span_text === span_text)) return;
  chosen.push({ source_id, span_start, span_text, required: true });
  changed = true;
  fill();
  say(`Span chosen: ${shorten(span_text)}`);
}

function fill() {
  byId("nothing-chosen").hidden = chosen.length > 0;
  byId("chosen").replaceChildren(...chosen.map(makeItem));
}

function makeItem(span, n) {
  const quote = make("q", "", shorten(span.span_text));
  quote.dir = "auto";
  const check = make("label", "check");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = span.required;
  box.addEventListener("change", () => {
    span.required = box.checked;
    changed = true;
  });
  check.append(box, "a complete answer needs it");
  const remove = make("button", "quiet", "Remove");
  remove.type = "button";
  remove.setAttribute("aria-label", `Remove span ${n + 1}`);
  remove.addEventListener("click", () => {
    chosen.splice(n, 1);
    changed = true;
    fill();
    say("Removed.");
  });
  const row = make("div", "row");
  row.append(make("span", "muted small", span.source_id), check, remove);
  const item = make("li");
  item.append(quote, row);
  return item;
}

// What is sent: the spans, with the reason of a change, or all of a new item.
function read() {
  if (data.mode === "entry") return { spans: chosen };
  if (data.mode === "item") return { spans: chosen, reason: byId("reason").value };
  return {
    corpus_ver: data.corpus_ver,
    query: byId("query").value,
    query_type: byId("query-type").value,
    answerable: !byId("unanswerable").checked,
    stakes: byId("stakes").value,
    gold_answer: byId("gold-answer").value,
    domain: byId("domain").value,
    expected_action: byId("expected-action").value,
    spans: chosen,
  };
}

async function save() {
  if (!chosen.length && data.mode !== "new") {
    say("Choose at least one span first.", "warn");
    return;
  }
  say("Saving …");
  try {
    const reply = await post(data.save, read());
    changed = false;
    if (byId("query")) byId("query").value = "";
    location.assign(reply.next);
  } catch (error) {
    say(`Not saved: ${error.message}`, "bad");
  }
}

// A question that the documents can't answer has no answer and no span, and its kind says so.
function setAnswerable() {
  const off = byId("unanswerable").checked;
  const kinds = Array.from(byId("query-type").options);
  for (const one of kinds) one.disabled = (one.value === "unanswerable") !== off;
  byId("query-type").value = kinds.find((one) => !one.disabled).value;
  byId("gold-answer").disabled = off;
  if (off) {
    byId("gold-answer").value = "";
    chosen.length = 0;
  }
  fill();
}

async function find(event) {
  event.preventDefault();
  try {
    const fields = new URLSearchParams({ corpus: data.corpus_ver, q: byId("find-words").value });
    const found = await get(`/api/gold-documents?${fields}`);
    show(found);
    say(describeCount(found.sources.length));
  } catch (error) {
    say(error.message, "bad");
  }
}

function describeCount(count) {
  if (count === 0) return "No document contains these words.";
  return count === 1 ? "1 document found." : `${count} documents found.`;
}

function show(documents) {
  sources.show(documents.sources, documents.stale);
  byId("no-sources").hidden = documents.sources.length > 0;
}

function press(event) {
  if (sources.picker?.active) return sources.picker.press(event);
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const actions = {
    "/": () => sources.field.select(),
    n: () => sources.goToHit(1),
    N: () => sources.goToHit(-1),
    s: () => sources.startPicking(),
    "[": () => sources.step(-1),
    "]": () => sources.step(1),
  };
  if (!actions[event.key]) return false;
  actions[event.key]();
  return true;
}

listenToKeys(press);
byId("save").addEventListener("click", save);
byId("find").addEventListener("submit", find);
window.addEventListener("beforeunload", (event) => {
  if (changed || byId("query")?.value) event.preventDefault();
});
byId("unanswerable")?.addEventListener("change", setAnswerable);
if (byId("unanswerable")) setAnswerable();
show(data.documents);
fill();
byId("desk").dataset.ready = "true";
