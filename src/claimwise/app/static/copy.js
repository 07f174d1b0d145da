// Buttons that copy: the text of the element they name, or the link of this page.

const SAID = 2000; // ms for which a button says that it has copied

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without HTTPS there is no clipboard; a selection can still be copied.
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("the browser does not let pages copy");
}

function findText(button) {
  const named = button.dataset.copy;
  if (named) return document.getElementById(named).textContent.trim();
  const link = new URL(location.href);
  link.searchParams.delete("list"); // the way back is the sender's own
  link.searchParams.delete("made");
  return link.href;
}

async function press(button) {
  const words = button.textContent;
  try {
    await copy(findText(button));
    button.textContent = "Copied";
  } catch (error) {
    button.textContent = `Not copied: ${error.message}`;
  }
  setTimeout(() => (button.textContent = words), SAID);
}

function showButtons() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (button) press(button);
});
document.addEventListener("claimwise:shown", showButtons); // figures.js has put new parts there
showButtons();
