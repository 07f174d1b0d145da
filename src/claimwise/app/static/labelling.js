// The labelling desk: shows claims one after another, keeps what was chosen until the server has it, and
// goes on without a connection with the claims that were fetched ahead.

import { Outbox, get, post, readData } from "./api.js";
import { LabelForm, connectDialogs, listenToKeys, openDialog } from "./label_form.js";

const data = readData("desk-data");
const byId = (id) => document.getElementById(id);
const DRAFTS = `claimwise.draft.${data.account}.`;
const DRAFT_DAYS = 30;
const RETRY = 3000; // ms
const ENOUGH_AHEAD = 10; // with fewer, more are fetched
const RENEW = 4 * 60_000; // ms: what someone holds stays theirs while they work
const PACE = 20; // claims that tell it

const state = {
  current: null, // the claim on the desk
  ahead: [], // claims that are here already
  sources: data.batch.sources, // by answer
  shown: new Map(), // claims that were on the desk, by task: one that is refused comes back
  done: data.recent.slice(), // tasks labelled or skipped, the latest last: for undo
  skipped: new Map(), // what was chosen before a skip, by task
  failed: new Map(), // why a claim came back, by task
  progress: data.batch.progress,
  counted: new Set(), // tasks that this tab has counted as done
  sent: new Map(), // what this tab has saved, by task
  paces: [], // seconds, of this session
};

const form = new LabelForm({ onChange: keepDraft, onChoice: save });
const outbox = new Outbox(data.account, { onSaved: saved, onRefused: comeBack, onChange: fillConnection });

// Drafts, kept in the browser until the server has the label

function keepDraft() {
  if (!state.current || form.fixed) return;
  const draft = form.isEmpty() ? null : { ...form.readDraft(), kept: Date.now() };
  writeDraft(state.current.task.task_id, draft);
}

// A browser that keeps nothing, or no more, must not stop anyone from labelling.
function writeDraft(taskId, draft) {
  try {
    if (draft) localStorage.setItem(DRAFTS + taskId, JSON.stringify(draft));
    else localStorage.removeItem(DRAFTS + taskId);
  } catch (error) {
    console.warn(`No draft is kept: ${error.message}`);
  }
}

function readDraft(taskId) {
  try {
    return JSON.parse(localStorage.getItem(DRAFTS + taskId));
  } catch {
    return null;
  }
}

function dropOldDrafts() {
  const oldest = Date.now() - DRAFT_DAYS * 86_400_000;
  const ids = Object.keys(localStorage).filter((key) => key.startsWith(DRAFTS)).map((key) => key.slice(DRAFTS.length));
  for (const id of ids) if (!(readDraft(id)?.kept > oldest)) writeDraft(id, null);
}

// The time a claim was looked at, without the time the page was hidden

const clock = { since: performance.now(), spent: 0 };

function restartClock() {
  clock.since = performance.now();
  clock.spent = 0;
}

function readClock() {
  const running = document.hidden ? 0 : performance.now() - clock.since;
  return Math.round((clock.spent + running) / 100) / 10;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clock.spent += performance.now() - clock.since;
  else clock.since = performance.now();
});

// Showing

function show(payload, draft) {
  state.current = payload;
  const { task } = payload;
  state.shown.set(task.task_id, payload);
  if (!task.sources.length) task.sources = state.sources[payload.answer] ?? [];
  form.fixed = data.closed && task.mine !== null;
  const kept = form.fixed ? task.mine : (draft ?? readDraft(task.task_id) ?? task.mine);
  form.show(payload, kept && fromLabel(kept));
  if (byId("fixed")) byId("fixed").hidden = !form.fixed;
  byId("skip").hidden = form.fixed;
  if (form.fixed) form.say(`You labelled this claim: ${task.mine.verdict}.`);
  else if (task.mine && !draft) form.say(`You labelled this claim: ${task.mine.verdict}. A new verdict replaces it.`);
  restartClock();
  fillProgress();
  setFinished(false);
  const why = state.failed.get(task.task_id);
  byId("go-on").hidden = !why;
  if (why) form.say(why, "bad");
}

// A label that was given, in the shape of a choice.
function fromLabel(one) {
  const entry = one.source_id ? null : state.current.task.action_log.find((e) => e.entry_text === one.supporting_span);
  return {
    ...one,
    span_text: one.span_text ?? one.supporting_span,
    entry_id: one.entry_id ?? entry?.entry_id,
  };
}

function setFinished(on) {
  byId("desk").classList.remove("waiting");
  byId("desk").classList.toggle("empty", on);
  byId("finished").hidden = !on;
  if (on) {
    const { done } = state.progress;
    byId("finished-title").textContent = done ? `You're done: ${done} of ${done}` : "Nothing to label here";
    byId("finished").focus();
  }
}

// My own progress: what the others did is on the page of the round.
function fillProgress() {
  const { done, left } = state.progress;
  const all = done + left;
  const parts = [`You: ${done} of ${all}`];
  const pace = readPace();
  if (pace && !data.closed) parts.push(`${describeSeconds(pace)} per claim`);
  if (pace && left && !data.closed) parts.push(`about ${describeSeconds(pace * left)} left`);
  const same = state.current && state.ahead.filter((one) => one.answer === state.current.answer).length;
  if (same) parts.push(`${same} more in this answer`);
  byId("progress-text").textContent = parts.join(" · ");
  byId("progress-bar").max = Math.max(1, all);
  byId("progress-bar").value = done;
}

function readPace() {
  if (state.paces.length < 3) return state.progress.seconds;
  const sorted = state.paces.slice(-PACE).sort((one, other) => one - other);
  return sorted[sorted.length >> 1];
}

function describeSeconds(seconds) {
  if (seconds < 100) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

// Each claim counts once, whoever tells of it: two tabs may send, and hear of, the same label.
function countDone(id, step) {
  if (step > 0 === state.counted.has(id)) return;
  if (step > 0) state.counted.add(id);
  else state.counted.delete(id);
  const { done, left } = state.progress;
  state.progress = { ...state.progress, done: done + step, left: Math.max(0, left - step) };
}

// Marks how long the next claim took from the key to the screen.
function measureShown(event) {
  const start = event?.timeStamp ?? performance.now();
  requestAnimationFrame(() => setTimeout(() => performance.measure("next-claim", { start, end: performance.now() })));
}

function showNext(event) {
  if (state.ahead.length) {
    show(state.ahead.shift());
    measureShown(event);
  } else {
    state.current = null;
    form.task = null;
    byId("desk").classList.add("waiting");
  }
  fetchAhead();
}

// Fetching ahead

let fetching = null;
let again = 0;

// Fetches claims while there are few, one request at a time; what is here already is not sent again.
function fetchAhead({ renew = false } = {}) {
  if (!renew && state.ahead.length >= ENOUGH_AHEAD) return;
  fetching ??= fetchBatch().finally(() => {
    fetching = null;
    if (!state.current && state.ahead.length) showNext();
  });
}

async function fetchBatch() {
  clearTimeout(again);
  const here = [state.current, ...state.ahead].filter(Boolean).map((one) => one.task.task_id);
  const have = [...here, ...outbox.tasks()];
  try {
    const path = `/api/rounds/${encodeURIComponent(data.round_id)}/batch`;
    takeBatch(await get(`${path}?have=${have.map(encodeURIComponent).join(",")}`), new Set(have));
  } catch (error) {
    if (error.status === 403) {
      if (!state.current) form.say(error.message, "bad"); // someone else is logged in
    } else {
      if (!state.current) form.say(`${error.message} More claims come with the connection.`, "warn");
      again = setTimeout(fetchAhead, RETRY);
    }
  }
}

// What someone else has by now goes from the pile; the claim on the desk stays until it is saved.
function keepHeld(held, had) {
  const mine = new Set(held);
  state.ahead = state.ahead.filter((one) => mine.has(one.task.task_id) || !had.has(one.task.task_id));
}

function takeBatch(batch, had) {
  Object.assign(state.sources, batch.sources);
  keepHeld(batch.held, had);
  const known = new Set([state.current, ...state.ahead].filter(Boolean).map((one) => one.task.task_id));
  for (const id of outbox.tasks()) known.add(id);
  state.ahead.push(...batch.claims.filter((one) => !known.has(one.task.task_id)));
  takeProgress(batch);
  fillProgress();
  if (!state.current && !state.ahead.length && !outbox.tasks().length) setFinished(true);
}

// Labels that wait here are done for me. Those that the server has already, its answer having been lost, it no
// longer calls held, and counts itself.
function takeProgress({ progress, held }) {
  const fresh = outbox.entries.filter((one) => one.kind === "label" && !one.body.seen && held.includes(one.task_id));
  for (const one of fresh) state.counted.add(one.task_id);
  state.progress = { ...progress, done: progress.done + fresh.length, left: Math.max(0, progress.left - fresh.length) };
}

// Saving

function save(choice, event) {
  const payload = state.current;
  const { task } = payload;
  if (outbox.has(task.task_id)) return;
  const seconds = readClock();
  state.failed.delete(task.task_id);
  if (!task.mine) {
    countDone(task.task_id, 1);
    state.paces.push(seconds);
  }
  setDone(task.task_id);
  form.say(`Saving ${choice.verdict} …`);
  const entry = outbox.add("label", task, { ...choice, seconds, seen: task.mine?.labeled_at ?? null });
  entry.ahead = new Set(state.ahead.map((one) => one.task.task_id)); // known to be held when it was sent
  showNext(event);
  fillProgress();
}

function setDone(id) {
  forgetDone(id);
  state.done.push(id);
}

// Meanwhile another may have become the last one.
function forgetDone(id) {
  state.done = state.done.filter((one) => one !== id);
}

function saved(entry, reply) {
  writeDraft(entry.task_id, null);
  const payload = state.shown.get(entry.task_id);
  if (entry.kind === "skip") sayDone("Skipped: someone else will get it.");
  else {
    if (payload) payload.task.mine = { ...entry.body, labeled_at: reply.labeled_at };
    sayDone(`Saved: ${entry.body.verdict}.`, "good");
    keepHeld(reply.held, entry.ahead ?? new Set());
    const mine = { verdict: entry.body.verdict, labeled_at: reply.labeled_at };
    state.sent.set(entry.task_id, { task: entry.task_id, mine, fresh: !entry.body.seen });
    tell({ kind: "saved", ...state.sent.get(entry.task_id) });
  }
  fillProgress();
  if (!state.current) fetchAhead();
}

// What went wrong stays in sight until someone does something about it: good news of another claim doesn't replace it.
function sayDone(text, kind) {
  if (!byId("status").classList.contains("bad")) form.say(text, kind);
}

// What was refused returns to the desk, with all that was chosen for it.
function comeBack(entry, error) {
  const id = entry.task_id;
  const payload = state.shown.get(id);
  const what = entry.kind === "skip" ? "Not skipped" : "Not saved";
  forgetDone(id);
  if (entry.kind === "label" && !entry.body.seen) countDone(id, -1);
  if (!payload) {
    // Chosen before the page was loaded: it waits as a draft where its claim is.
    if (entry.kind === "label") writeDraft(id, { ...entry.body, kept: Date.now() });
    form.say(`${what}, “${entry.claim}”: ${error.message}`, "bad");
    return;
  }
  if (error.reply?.mine) payload.task.mine = error.reply.mine;
  state.failed.set(id, `${what}: ${error.message} Your choice is still here: give the verdict again to save it.`);
  if (state.current && state.current !== payload) state.ahead.unshift(state.current);
  state.ahead = state.ahead.filter((one) => one.task.task_id !== id);
  show(payload, entry.kind === "label" ? entry.body : (state.skipped.get(id) ?? null));
  keepDraft();
}

function goOn() {
  state.failed.delete(state.current.task.task_id);
  writeDraft(state.current.task.task_id, null);
  form.say("Left without a label.");
  showNext();
}

function fillConnection({ waiting, offline }) {
  const notice = byId("offline");
  notice.hidden = !(offline && waiting);
  const labels = waiting === 1 ? "1 label waits" : `${waiting} labels wait`;
  byId("offline-text").textContent = `No connection: ${labels} on this computer and will be saved automatically. You can go on.`;
}

// Undo: what waits here is taken out again; what the server has is taken back there. One after the other:
// which claim is the last one depends on it.
let acting = Promise.resolve();

function undo() {
  acting = acting.then(takeBack);
}

async function takeBack() {
  await outbox.settle();
  const id = state.done.at(-1);
  if (!id) {
    form.say("There is nothing to undo.", "warn");
    return;
  }
  const waiting = outbox.cancel(id);
  if (waiting) putBack(waiting);
  else await askUndo(id);
}

function putBack(entry) {
  const payload = state.shown.get(entry.task_id);
  forgetDone(entry.task_id);
  if (entry.kind === "label" && !entry.body.seen) countDone(entry.task_id, -1);
  if (!payload) return;
  layAside(entry.task_id);
  show(payload, entry.kind === "label" ? entry.body : (state.skipped.get(entry.task_id) ?? null));
  form.say("Undone. Choose a verdict.");
}

function layAside(id) {
  if (state.current && state.current.task.task_id !== id) state.ahead.unshift(state.current);
}

async function askUndo(id) {
  try {
    const reply = await post(`/api/tasks/${encodeURIComponent(id)}/undo`, {});
    forgetDone(id);
    state.progress = reply.progress;
    state.counted.delete(id);
    state.sent.delete(id);
    layAside(id);
    const { before } = reply;
    show(reply.claim, before ? { ...before, span_text: before.supporting_span } : state.skipped.get(id));
    form.say(reply.unskipped ? "Undone: the claim is yours again." : "Undone. Choose a verdict.");
  } catch (error) {
    if (error.status === 409) forgetDone(id); // that stays as it is; the next undo goes one further
    form.say(error.status === 0 ? `${error.message} Undo needs the connection.` : error.message, "bad");
  }
}

function skip(reason) {
  const payload = state.current;
  if (!payload) return;
  const id = payload.task.task_id;
  state.skipped.set(id, form.isEmpty() ? null : form.readDraft());
  state.failed.delete(id);
  setDone(id);
  form.say("Skipping …");
  outbox.add("skip", payload.task, { reason });
  showNext();
}

function askSkip() {
  if (state.current && !form.fixed) openDialog("skip-dialog");
}

// Other tabs of the same person on the same round: each is told of the others, and of what they save.

const tab = crypto.getRandomValues(new Uint32Array(1))[0];
const others = new Set();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(`claimwise.desk.${data.account}.${data.round_id}`) : null;

function tell(message) {
  channel?.postMessage({ ...message, tab });
}

function hear({ data: message }) {
  if (message.kind === "hello") tell({ kind: "here", saved: [...state.sent.values()] });
  if (message.kind === "bye") others.delete(message.tab);
  else others.add(message.tab);
  if (message.kind === "saved") hearSaved(message);
  // A tab that opens may show claims that another one saved after the server had made its page.
  if (message.kind === "here") message.saved.forEach(hearSaved);
  byId("other-tab").hidden = others.size === 0;
}

// What is not here any more, the server has counted already.
function hearSaved({ task: id, mine, fresh }) {
  const isHere = [state.current, ...state.ahead].some((one) => one?.task.task_id === id);
  state.ahead = state.ahead.filter((one) => one.task.task_id !== id);
  if (fresh && isHere) countDone(id, 1);
  if (state.current?.task.task_id === id && !outbox.has(id)) {
    state.current.task.mine = mine;
    form.say(`You labelled this claim in another tab: ${mine.verdict}. A new verdict replaces it.`, "warn");
    byId("go-on").hidden = false;
  }
  fillProgress();
}

// The page

function press(event) {
  if (form.press(event)) return true;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const actions = {
    u: undo,
    k: askSkip,
    "?": () => openDialog("rules-dialog", document.activeElement?.dataset?.verdict),
    g: () => window.open(byId("guide-link").href, "_blank", "noopener"),
  };
  if (!actions[event.key]) return false;
  actions[event.key]();
  return true;
}

connectDialogs({ skip });
listenToKeys(press);
byId("go-on").addEventListener("click", goOn);
byId("undo").addEventListener("click", undo);
byId("skip").addEventListener("click", askSkip);
byId("rules").addEventListener("click", () => openDialog("rules-dialog"));
window.addEventListener("beforeunload", (event) => {
  const waiting = state.current && form.verdict && !state.current.task.mine;
  if (outbox.tasks().length || state.failed.size || waiting) event.preventDefault();
});
window.addEventListener("pagehide", () => tell({ kind: "bye" }));
window.addEventListener("online", () => fetchAhead());
channel?.addEventListener("message", hear);
tell({ kind: "hello" });
setInterval(() => document.hidden || fetchAhead({ renew: true }), RENEW);
dropOldDrafts();
takeProgress(data.batch);
const [first, ...rest] = data.batch.claims.filter((one) => !outbox.has(one.task.task_id));
state.ahead = rest;
if (first) show(first);
else if (!outbox.tasks().length) {
  fillProgress();
  setFinished(true);
}
outbox.start();
byId("desk").dataset.ready = "true";
