// One dispute: labels side by side, their spans in the source, and the decision.

import { post, readData } from "./api.js";
import { LabelForm, connectDialogs, listenToKeys, openDialog } from "./label_form.js";
import { paint, reveal } from "./picker.js";
import { toUnits } from "./text.js";

const data = readData("desk-data");
const byId = (id) => document.getElementById(id);
const LOOKS = 3; // ways of marking in desk.css
// Letters that the desk does not use itself; further labels have their buttons.
const TAKEN = new Set(["e", "g", "k", "n", "q", "r", "s", "u", "w"]);

// Only the decision shown here is replaced: one that someone makes meanwhile is not overwritten unseen.
const replaces = data.decided && { labeler: data.decided.labeler, labeled_at: data.decided.labeled_at };
let deciding = false;
const judge = new LabelForm({ onChange: () => undefined, onChoice: decide });

async function decide(choice) {
  if (deciding) return;
  deciding = true;
  judge.say(`Saving ${choice.verdict} …`);
  try {
    const reply = await post(`/api/disputes/${encodeURIComponent(data.task.task_id)}/decide`, { ...choice, replaces });
    judge.say(`Decided: ${choice.verdict}.`, "good");
    keepLast({ task: data.task.task_id, verdict: choice.verdict, claim: data.task.claim_text, page: location.pathname });
    location.assign(reply.next);
  } catch (error) {
    deciding = false;
    judge.say(`Not saved: ${error.message}`, "bad");
  }
}

// The decision before this page: kept by this tab alone, for as long as it is open.
const LAST = "claimwise.decided";
const keepLast = (last) => sessionStorage.setItem(LAST, JSON.stringify(last));
const readLast = () => JSON.parse(sessionStorage.getItem(LAST) ?? "null");

async function undo(task, page) {
  if (deciding) return;
  deciding = true;
  judge.say("Undoing …");
  try {
    await post(`/api/disputes/${encodeURIComponent(task)}/undo`, {});
    if (readLast()?.task === task) sessionStorage.removeItem(LAST);
    location.assign(page);
  } catch (error) {
    deciding = false;
    judge.say(`Not undone: ${error.message}`, "bad");
  }
}

function undoLast() {
  const last = readLast();
  if (last) undo(last.task, last.page);
  else if (byId("undo-this")) undo(data.task.task_id, location.pathname);
  else judge.say("You have no decision to undo.", "warn");
}

function showLast() {
  const last = readLast();
  if (!last || last.task === data.task.task_id) return;
  const line = byId("last-decision");
  line.querySelector("span").textContent = `You decided ${last.verdict.replaceAll("_", " ")}: “${last.claim}”`;
  line.querySelector("button").addEventListener("click", undoLast);
  line.hidden = false;
}

function take(side) {
  const choice = { verdict: side.verdict };
  const reason = judge.reason.value.trim() || side.reason;
  if (reason) choice.reason = reason;
  if (side.covered_text) choice.covered_text = side.covered_text;
  if (side.entry_id) choice.entry_id = side.entry_id;
  else if (side.source_id) Object.assign(choice, { source_id: side.source_id, span_start: side.span_start, span_text: side.span_text });
  decide(choice);
}

function look(side) {
  const n = judge.sources.list.findIndex((one) => one.source_id === side.source_id);
  if (n < 0) {
    judge.say(`${side.source_id} is not among the sources shown.`, "warn");
    return;
  }
  judge.sources.open(n);
  reveal(judge.sources.page, placeOf(side), judge.sources.box);
}

function placeOf(side) {
  const start = toUnits(judge.sources.page.text, side.span_start ?? 0);
  return [start, start + side.span_text.length];
}

// The spans of all labels in the source that is open, each kind with a line of its own.
function paintSides() {
  if (!judge.sources) return;
  const open = judge.sources.list[judge.sources.active];
  for (let kind = 0; kind < LOOKS; kind++) {
    const places = data.sides
      .filter((side, n) => n % LOOKS === kind && open && side.source_id === open.source_id && side.span_start !== null)
      .map(placeOf);
    paint(`label-${kind}`, judge.sources.page, places);
  }
}

function press(event) {
  if (judge.press(event)) return true;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const side = TAKEN.has(event.key) ? null : data.sides.find((one) => one.letter.toLowerCase() === event.key);
  const actions = {
    "?": () => openDialog("rules-dialog", document.activeElement?.dataset?.verdict),
    u: undoLast,
    g: () => window.open(byId("guide-link").href, "_blank", "noopener"),
  };
  if (side) take(side);
  else if (actions[event.key]) actions[event.key]();
  else return false;
  return true;
}

connectDialogs({});
listenToKeys(press);
judge.show({ task: data.task, stale: data.stale }, null);
if (judge.sources) judge.sources.onOpen = paintSides;
paintSides();
const first = data.sides.find((side) => side.source_id && side.span_start !== null);
if (first && judge.sources?.list.length) look(first);
scrollTo(0, 0); // on a phone the page itself scrolls, and the claim comes first
showLast();
byId("undo-this")?.addEventListener("click", () => undo(data.task.task_id, location.pathname));
byId("rules").addEventListener("click", () => openDialog("rules-dialog"));
for (const button of document.querySelectorAll("[data-side]")) {
  button.addEventListener("click", () => take(data.sides[Number(button.dataset.side)]));
}
for (const button of document.querySelectorAll("[data-look]")) {
  button.addEventListener("click", () => look(data.sides[Number(button.dataset.look)]));
}
byId("desk").dataset.ready = "true";
