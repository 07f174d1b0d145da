// The labelling desk: shows claims one after another, saves in the background, brings back what
// could not be saved.

import { get, post, readData } from "./api.js";
import { connectDialogs, openDialog } from "./dialogs.js";
import { Judge, listenToKeys } from "./judge.js";

const data = readData("desk-data");
const byId = (id) => document.getElementById(id);
const DRAFTS = `claimwise.draft.${data.account}.`;
const DRAFT_DAYS = 30;
const RETRY = 3000; // ms

const state = {
  current: null, // the claim on the desk
  ahead: [], // claims that are here already
  done: data.recent.slice(), // tasks labelled or skipped, the latest last: for undo
  skipped: new Map(), // what was chosen before a skip, by task
  saving: new Map(), // by task
  failed: new Set(),
  progress: data.progress,
  turn: 0, // goes up whenever the desk moves on
};

const judge = new Judge({ onChange: keepDraft, onChoice: save });

// Drafts, kept in the browser until the server has the label

function keepDraft() {
  if (!state.current || judge.fixed) return;
  const draft = judge.isEmpty() ? null : { ...judge.readDraft(), kept: Date.now() };
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
  state.turn += 1;
  state.current = payload;
  const { task } = payload;
  judge.fixed = data.closed && task.mine !== null;
  const kept = judge.fixed ? task.mine : (draft ?? readDraft(task.task_id) ?? task.mine);
  judge.show(payload, kept && fromLabel(kept));
  if (byId("fixed")) byId("fixed").hidden = !judge.fixed;
  byId("skip").hidden = judge.fixed;
  if (judge.fixed) judge.say(`You labelled this claim: ${task.mine.verdict}.`);
  else if (task.mine && !draft) judge.say(`You labelled this claim: ${task.mine.verdict}. A new verdict replaces it.`);
  restartClock();
  fillProgress();
  setFinished(false);
  byId("go-on").hidden = !state.failed.has(task.task_id);
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
  if (on) byId("finished").focus();
}

function fillProgress() {
  const { done, slots } = state.progress;
  const left = state.current && !data.closed ? state.current.left_in_answer + 1 : 0;
  const shown = Math.min(slots, done + state.saving.size);
  byId("progress-text").textContent = `${shown} of ${slots}${left > 1 ? ` · ${left} to go in this answer` : left ? " · last of this answer" : ""}`;
  byId("progress-bar").max = Math.max(1, slots);
  byId("progress-bar").value = shown;
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
    state.turn += 1;
    state.current = null;
    judge.task = null;
    byId("desk").classList.add("waiting");
    fetchAhead();
  }
}

// Fetches the claim that comes after the one on the desk. One request at a time, and none while a
// save is under way: only then does the server know which claim comes next. Where the desk has moved
// on before the answer is here, the answer is about yesterday, and the question is asked again.
let fetching = false;

async function fetchAhead() {
  if (fetching || state.ahead.length || state.saving.size) return;
  fetching = true;
  const turn = state.turn;
  let found = null;
  try {
    found = await fetchUnseen();
  } catch (error) {
    if (error.status === 403) {
      judge.say(error.message, "bad"); // someone else is logged in: asking again would not help
      return;
    }
    judge.say(`${error.message} Trying again in a moment.`, "bad");
    setTimeout(fetchAhead, RETRY);
    return;
  } finally {
    fetching = false;
  }
  if (turn !== state.turn) fetchAhead();
  else if (state.current) {
    state.ahead = found ? [found] : [];
    fillProgress();
  } else if (found) {
    show(found);
    fetchAhead();
  } else {
    fillProgress();
    setFinished(true);
  }
}

// Behind a claim that the labeler holds, the second one held comes next; else the first.
async function fetchUnseen() {
  const here = state.current?.task;
  for (const held of here && !here.mine ? [2, 1] : [1, 2]) {
    const reply = await get(`/api/rounds/${encodeURIComponent(data.round_id)}/next?held=${held}`);
    state.progress = reply.progress;
    if (reply.task && reply.task.task_id !== here?.task_id) return reply;
  }
  return null;
}

// Saving

function save(choice, event) {
  const payload = state.current;
  const task = payload.task;
  if (state.saving.has(task.task_id)) return;
  const sent = { ...choice, seconds: readClock() };
  const saving = post(`/api/tasks/${encodeURIComponent(task.task_id)}/label`, sent);
  state.saving.set(task.task_id, saving);
  state.failed.delete(task.task_id);
  judge.say(`Saving ${choice.verdict} …`);
  showNext(event);
  fillProgress();
  saving.then(() => saved(payload, choice), (error) => comeBack(payload, choice, error));
}

function saved(payload, choice) {
  const id = payload.task.task_id;
  state.saving.delete(id);
  writeDraft(id, null);
  if (!payload.task.mine) state.progress.done += 1;
  state.done = [...state.done.filter((one) => one !== id), id];
  judge.say(`Saved: ${choice.verdict}.`, "good");
  fillProgress();
  fetchAhead();
}

// A label that was not saved returns to the desk, with all that was chosen for it.
function comeBack(payload, choice, error) {
  const id = payload.task.task_id;
  state.saving.delete(id);
  state.failed.add(id);
  if (state.current && state.current !== payload) state.ahead.unshift(state.current);
  show(payload, choice);
  keepDraft();
  judge.say(`Not saved: ${error.message} Your choice is still here: give the verdict again to save it.`, "bad");
}

function goOn() {
  state.failed.delete(state.current.task.task_id);
  writeDraft(state.current.task.task_id, null);
  judge.say("Left without a label.");
  showNext();
}

// Skips and undos, each after the one before: which claim is the last one depends on it.
let acting = Promise.resolve();

function undo() {
  acting = acting.then(takeBack);
}

async function takeBack() {
  if (state.saving.size) await Promise.allSettled(state.saving.values());
  const id = state.done.at(-1);
  if (!id) {
    judge.say("There is nothing to take back.", "warn");
    return;
  }
  try {
    const reply = await post(`/api/tasks/${encodeURIComponent(id)}/undo`, {});
    forgetDone(id);
    state.progress = reply.progress;
    if (state.current && state.current.task.task_id !== id) state.ahead.unshift(state.current);
    const before = reply.before;
    show(reply, before ? { ...before, span_text: before.supporting_span } : state.skipped.get(id));
    judge.say(reply.unskipped ? "Skip taken back: the claim is yours again." : "Taken back. Choose again.");
  } catch (error) {
    if (error.status === 409) forgetDone(id); // that stays as it is; the next undo goes one further
    judge.say(error.message, "bad");
  }
}

// Meanwhile another may have become the last one.
function forgetDone(id) {
  state.done = state.done.filter((one) => one !== id);
}

function skip(reason) {
  const payload = state.current;
  if (!payload) return;
  const draft = judge.isEmpty() ? null : judge.readDraft();
  acting = acting.then(() => passOn(payload, draft, reason));
}

async function passOn(payload, draft, reason) {
  const id = payload.task.task_id;
  try {
    await post(`/api/tasks/${encodeURIComponent(id)}/skip`, { reason });
    writeDraft(id, null);
    state.skipped.set(id, draft);
    state.failed.delete(id);
    forgetDone(id);
    state.done.push(id);
    state.ahead = state.ahead.filter((one) => one !== payload);
    judge.say("Skipped: someone else will get it.");
    if (state.current === payload) showNext();
    fetchAhead();
  } catch (error) {
    judge.say(`Not skipped: ${error.message}`, "bad");
  }
}

function askSkip() {
  if (state.current && !judge.fixed) openDialog("skip-dialog");
}

// The page

function press(event) {
  if (judge.press(event)) return true;
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
  const waiting = state.current && judge.verdict && !state.current.task.mine;
  if (state.saving.size || state.failed.size || waiting) event.preventDefault();
});
dropOldDrafts();
if (data.first) show(data.first);
fetchAhead();
byId("desk").dataset.ready = "true";
