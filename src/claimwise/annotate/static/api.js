// Requests to the app. Every error is one line that can be shown as it is.

const LOGGED_OUT =
  "You are logged out. Log in again in another tab, then repeat this; what you chose is kept.";

export class RequestError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status; // 0: the server was not reached
  }
}

async function send(url, options) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options });
  } catch {
    throw new RequestError("The server can't be reached.", 0);
  }
  if (response.status === 401 || response.redirected) throw new RequestError(LOGGED_OUT, 401);
  let value = null;
  try {
    value = await response.json();
  } catch {
    throw new RequestError(`The server answered ${response.status} without a reason.`, response.status);
  }
  if (!response.ok) {
    throw new RequestError(value?.error ?? `The server answered ${response.status}.`, response.status);
  }
  return value;
}

export const get = (url) => send(url, { headers: { accept: "application/json" } });

const readToken = (page) => page.querySelector('meta[name="csrf-token"]')?.content ?? "";
const readName = (page) => page.querySelector(".who a")?.textContent ?? "";

// Who logged out and in again has a new form token, which this page takes over. A page that
// someone else's login has overtaken stays without: nobody's choice is saved under another name.
async function renewToken() {
  const reply = await fetch("/account", { credentials: "same-origin" });
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const fresh = readToken(page);
  if (!fresh || fresh === readToken(document)) return false;
  if (readName(page) !== readName(document)) {
    throw new RequestError(`${readName(page)} is logged in here now: load the page again to go on under that name.`, 403);
  }
  document.querySelector('meta[name="csrf-token"]').content = fresh;
  return true;
}

export async function post(url, value) {
  try {
    return await postOnce(url, value);
  } catch (error) {
    if (error.status === 403 && (await renewToken())) return postOnce(url, value);
    throw error;
  }
}

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

export function readData(id) {
  return JSON.parse(document.getElementById(id).textContent);
}
