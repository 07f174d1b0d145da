// Fetches a page again and again until its figures are up to date: they are calculated beside the
// requests, and labels keep coming.

const FIRST_LOOK = 250; // ms; then twice as long each time
const LAST_LOOK = 8000;

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

async function look(wait) {
  if (!isUsed()) {
    const fresh = await fetchPage();
    if (fresh && !isUsed()) show(fresh);
  }
  lookAgain(Math.min(2 * wait, LAST_LOOK));
}

function lookAgain(wait) {
  if (!isCurrent()) setTimeout(look, wait, wait);
}

lookAgain(FIRST_LOOK);
