// Requests to the app. Every error is one line that can be shown as it is. Who is logged out is asked
// to log in again in another tab, and the request waits for that.

const LOOK_EVERY = 4000; // ms

export class RequestError extends Error {
  constructor(message, status, reply = null) {
    super(message);
    this.status = status; // 0: the server was not reached
    this.reply = reply;
  }
}

// How many requests are under way, for whoever has to know that a page has come to rest.
const page = document.documentElement;
page.dataset.pending = "0";

const countPending = (change) => {
  page.dataset.pending = String(Number(page.dataset.pending) + change);
};

async function send(url, options) {
  countPending(1);
  try {
    return await sendOnce(url, options);
  } finally {
    countPending(-1);
  }
}

async function sendOnce(url, options) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options });
  } catch {
    throw new RequestError("The server can't be reached.", 0);
  }
  if (response.status === 401 || response.redirected) throw new RequestError("You are logged out.", 401);
  let value = null;
  try {
    value = await response.json();
  } catch {
    throw new RequestError(`The server answered ${response.status} without a reason.`, response.status);
  }
  if (!response.ok) {
    throw new RequestError(value?.error ?? `The server answered ${response.status}.`, response.status, value);
  }
  return value;
}

// With the form token, so that a page which someone else's login has overtaken gets nothing of theirs.
export const get = (url) =>
  repeat(() => send(url, { headers: { accept: "application/json", "x-csrf-token": readToken(document) } }));

export const post = (url, value) => repeat(() => postOnce(url, value));

function postOnce(url, value) {
  const body = JSON.stringify(value);
  return send(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      "x-csrf-token": readToken(document),
    },
    body,
    keepalive: body.length < 20_000, // a save outlives its page; browsers refuse more than 64 KB
  });
}

// Sends a request again once the user has logged in, if a missing login had stopped it.
async function repeat(request) {
  const sent = readToken(document);
  try {
    return await request();
  } catch (error) {
    if (error.status === 401) await waitForLogin();
    else if (error.status !== 403 || !(await renewToken(sent))) throw error;
    return request();
  }
}

// Logging in again

const readToken = (page) => page.querySelector('meta[name="csrf-token"]')?.content ?? "";
const readName = (page) => page.querySelector(".who a")?.textContent ?? "";

// Who is logged in now, in whatever tab; null: nobody, or nobody knows.
async function readLogin() {
  try {
    const reply = await fetch("/account", { credentials: "same-origin" });
    if (reply.redirected || !reply.ok) return null;
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    return { token: readToken(page), name: readName(page) };
  } catch {
    return null;
  }
}

// Who logged out and in again has a new form token, which this page takes over. A page that
// someone else's login has overtaken stays without: nobody's choice is saved under another name.
function takeOver({ token, name }) {
  if (name !== readName(document)) {
    throw new RequestError(`${name} is logged in here now: load the page again to go on under that name.`, 403);
  }
  document.querySelector('meta[name="csrf-token"]').content = token;
  for (const field of document.querySelectorAll('input[name="csrf"]')) field.value = token;
}

// True when there is a newer token than the one that was sent, whichever request took it over.
async function renewToken(sent) {
  const found = await readLogin();
  if (!found?.token || found.token === sent) return false;
  takeOver(found);
  return true;
}

let waiting = null; // one wait for all requests

function waitForLogin() {
  waiting ??= askForLogin().finally(() => {
    waiting = null;
  });
  return waiting;
}

async function askForLogin() {
  const notice = showNotice();
  try {
    let found = null;
    while (!found) {
      await lookAgain();
      found = await readLogin();
    }
    takeOver(found);
  } finally {
    notice.remove();
  }
}

// Waits until someone comes back to this tab, or for a while.
function lookAgain() {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("focus", done);
      document.removeEventListener("visibilitychange", done);
      resolve();
    };
    const timer = setTimeout(done, LOOK_EVERY);
    addEventListener("focus", done);
    document.addEventListener("visibilitychange", done);
  });
}

function showNotice() {
  const notice = document.createElement("div");
  notice.className = "logged-out";
  notice.id = "logged-out";
  notice.setAttribute("role", "alert");
  const words = document.createElement("p");
  words.textContent = "You are logged out. Nothing is lost: what you chose stays here, and is saved once you are back.";
  const link = document.createElement("a");
  link.className = "button";
  link.href = "/login?next=/account";
  link.target = "_blank";
  link.rel = "noopener";
  link.textContent = "Log in again in another tab";
  notice.append(words, link);
  document.body.append(notice);
  return notice;
}

export function readData(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

// The outbox: what someone chose and the server does not have yet. Each entry has an id of its own, by which the server
// knows it again: sent twice, it is saved once. Entries stay in the browser until they are answered, over a
// lost connection, a killed server or a closed tab; who opens the desk next sends them.

const RETRY = 3000; // ms

export class Outbox {
  // onSaved(entry, reply), onRefused(entry, error), onChange({ waiting, offline })
  constructor(account, { onSaved, onRefused, onChange }) {
    Object.assign(this, { onSaved, onRefused, onChange });
    this.prefix = `claimwise.outbox.${account}.`;
    this.entries = this.readStored();
    this.sending = null;
    this.offline = false;
    this.timer = 0;
    addEventListener("online", () => this.send());
  }

  readStored() {
    const found = [];
    for (const key of Object.keys(localStorage).filter((one) => one.startsWith(this.prefix))) {
      try {
        found.push(JSON.parse(localStorage.getItem(key)));
      } catch {
        localStorage.removeItem(key);
      }
    }
    return found.sort((one, other) => one.at - other.at);
  }

  // Sends what was left here before.
  start() {
    if (this.entries.length) this.send();
  }

  tasks() {
    return this.entries.map((one) => one.task_id);
  }

  has(taskId) {
    return this.entries.some((one) => one.task_id === taskId);
  }

  add(kind, task, body) {
    const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const entry = { kind, id, task_id: task.task_id, claim: task.claim_text.slice(0, 200), body, at: Date.now() };
    if (kind === "label") body.save_id = id;
    this.entries.push(entry);
    // A browser that keeps nothing, or no more, must not stop anyone from labelling.
    try {
      localStorage.setItem(this.prefix + id, JSON.stringify(entry));
    } catch (error) {
      console.warn(`Kept in this tab alone: ${error.message}`);
    }
    this.send();
    return entry;
  }

  remove(entry) {
    this.entries = this.entries.filter((one) => one !== entry);
    localStorage.removeItem(this.prefix + entry.id);
  }

  // Takes out what was not sent yet, or could not be; undefined when there is nothing of that task.
  cancel(taskId) {
    const entry = this.entries.find((one) => one.task_id === taskId);
    if (entry) this.remove(entry);
    this.tell();
    return entry;
  }

  // Waits until what is under way was answered, or can't be.
  settle() {
    return this.sending ?? Promise.resolve();
  }

  send() {
    clearTimeout(this.timer);
    this.sending ??= this.sendAll().finally(() => {
      this.sending = null;
      if (this.entries.length) this.timer = setTimeout(() => this.send(), RETRY);
    });
  }

  async sendAll() {
    while (this.entries.length) {
      const entry = this.entries[0];
      try {
        const reply = await post(`/api/tasks/${encodeURIComponent(entry.task_id)}/${entry.kind}`, entry.body);
        this.offline = false;
        this.finish(entry, () => this.onSaved(entry, reply));
      } catch (error) {
        if (isPassing(error)) {
          this.offline = true;
          this.tell();
          return;
        }
        this.finish(entry, () => this.onRefused(entry, error));
        if (error.status === 403) return;
      }
    }
  }

  // One that was taken out meanwhile is nobody's any more.
  finish(entry, then) {
    if (!this.entries.includes(entry)) return;
    this.remove(entry);
    this.tell();
    then();
  }

  tell() {
    this.onChange({ waiting: this.entries.length, offline: this.offline });
  }
}

// Errors that go by themselves: no connection, a server that restarts or is too busy.
const isPassing = (error) => error.status === 0 || error.status === 429 || error.status >= 500;
