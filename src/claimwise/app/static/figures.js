// Keeps the figures of an open page current: they are calculated beside the requests, and labels keep
// coming. While figures are missing or old, the page is fetched again after a moment; once they are
// up to date, every minute that it is looked at, and when someone comes back to it.

const FIRST_LOOK = 250; // ms; then twice as long each time
const LAST_LOOK = 8000;
const REST = 60000; // between looks at a page that was up to date

const isCurrent = () => document.querySelector("[data-figures]")?.dataset.figures !== "calculating";
const isUsed = () => document.querySelector("main form:focus-within") !== null;

async function fetchPage() {
  try {
    const reply = await fetch(location.href, { credentials: "same-origin" });
    if (!reply.ok || reply.redirected) return null;
    return new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("main");
  } catch {
    return null;
  }
}

// What was unfolded stays so, and what had the focus keeps it: by its place among its kind.
function show(fresh) {
  const shown = document.querySelector("main");
  const listParts = (main) => [...main.querySelectorAll("a, summary, [tabindex]")];
  const unfolded = [...shown.querySelectorAll("details")].map((part) => part.open);
  const focused = listParts(shown).indexOf(document.activeElement);
  fresh.querySelectorAll("details").forEach((part, number) => {
    part.open = unfolded[number] ?? part.open;
  });
  shown.replaceWith(fresh);
  listParts(fresh)[focused]?.focus({ preventScroll: true });
}

// When figures were last checked is told by the page, and is no change of what it shows.
function describe(main) {
  const copy = main.cloneNode(true);
  copy.querySelectorAll("details").forEach((part) => part.removeAttribute("open"));
  copy.querySelectorAll("[data-copy]").forEach((part) => part.replaceChildren());
  copy.querySelectorAll("[data-copy]").forEach((part) => part.removeAttribute("hidden"));
  copy.querySelectorAll("[data-as-of]").forEach((part) => part.removeAttribute("data-as-of"));
  return copy.innerHTML;
}

function update(fresh) {
  const shown = document.querySelector("main");
  if (describe(fresh) !== describe(shown)) {
    show(fresh);
    document.dispatchEvent(new Event("claimwise:shown"));
    return;
  }
  const said = fresh.querySelector("[data-as-of]");
  if (said) shown.querySelector("[data-figures]").dataset.asOf = said.dataset.asOf;
}

let waiting = 0;

async function look(wait) {
  clearTimeout(waiting);
  waiting = 0;
  if (!isUsed()) {
    const fresh = await fetchPage();
    if (fresh && !isUsed()) update(fresh);
  }
  lookAgain(Math.min(2 * wait, LAST_LOOK));
}

function lookAgain(wait) {
  clearTimeout(waiting);
  const rests = isCurrent();
  waiting = setTimeout(() => (document.hidden ? lookAgain(REST) : look(rests ? FIRST_LOOK : wait)), rests ? REST : wait);
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look(FIRST_LOOK);
});
if (document.querySelector("[data-figures]")) lookAgain(FIRST_LOOK);
