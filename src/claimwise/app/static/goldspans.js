// The spans a right answer rests on: choose as many as it takes, say which are needed, save.

import { get, post, readData } from "./api.js";
import { listenToKeys, shorten } from "./label_form.js";
import { Sources, make } from "./sources.js";

const data = readData("desk-data");
const byId = (id) => document.getElementById(id);
const chosen = [];
let saved = false;

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
  fill();
  say(`Span chosen: ${shorten(span_text)}`);
}

function fill() {
  byId("nothing-chosen").hidden = chosen.length > 0;
  byId("save").setAttribute("aria-disabled", String(chosen.length === 0));
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
  });
  check.append(box, "a complete answer needs it");
  const remove = make("button", "quiet", "Remove");
  remove.type = "button";
  remove.setAttribute("aria-label", `Remove span ${n + 1}`);
  remove.addEventListener("click", () => {
    chosen.splice(n, 1);
    fill();
    say("Removed.");
  });
  const row = make("div", "row");
  row.append(make("span", "muted small", span.source_id), check, remove);
  const item = make("li");
  item.append(quote, row);
  return item;
}

async function save() {
  if (!chosen.length) {
    say("Choose at least one span first.", "warn");
    return;
  }
  say("Saving …");
  try {
    const reply = await post(`/api/gold-spans/${encodeURIComponent(data.entry_id)}`, { spans: chosen });
    saved = true;
    location.assign(reply.next);
  } catch (error) {
    say(`Not saved: ${error.message}`, "bad");
  }
}

async function find(event) {
  event.preventDefault();
  try {
    const words = encodeURIComponent(byId("find-words").value);
    const found = await get(`/api/gold-spans/${encodeURIComponent(data.entry_id)}/documents?q=${words}`);
    show(found);
    say(describeCount(found.sources.length));
  } catch (error) {
    say(error.message, "bad");
  }
}

function describeCount(count) {
  if (count === 0) return "No document holds these words.";
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
  if (chosen.length && !saved) event.preventDefault();
});
show(data.documents);
byId("desk").dataset.ready = "true";
