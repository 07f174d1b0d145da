// The dialogs of the desk: rules and keys, and the reasons to skip. The browser closes them with Esc
// and gives the focus back.

const byId = (id) => document.getElementById(id);

export function openDialog(id, verdict) {
  const dialog = byId(id);
  if (dialog.open) return;
  dialog.showModal();
  if (verdict) dialog.querySelector(`[data-rule-of="${verdict}"]`)?.scrollIntoView();
}

export function connectDialogs({ skip }) {
  for (const button of document.querySelectorAll("dialog [data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  const keys = byId("keys-on");
  if (keys) {
    keys.checked = localStorage.getItem("claimwise.keys") !== "off";
    keys.addEventListener("change", () => localStorage.setItem("claimwise.keys", keys.checked ? "on" : "off"));
  }
  if (skip) connectSkip(skip);
}

function connectSkip(skip) {
  const dialog = byId("skip-dialog");
  const form = dialog.querySelector("form");
  const own = byId("skip-own");
  dialog.addEventListener("keydown", (event) => {
    const choices = form.elements.reason;
    if (event.target !== own && /^[1-9]$/.test(event.key) && choices[Number(event.key) - 1]) {
      event.preventDefault();
      choices[Number(event.key) - 1].checked = true;
      choices[Number(event.key) - 1].focus();
      if (choices[Number(event.key) - 1].value === "") own.focus();
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = form.elements.reason.value;
    const words = own.value.trim();
    const reason = chosen && words ? `${chosen}: ${words}` : chosen || words;
    if (!reason) {
      byId("skip-why").textContent = "Choose a reason, or write one.";
      return;
    }
    form.reset();
    byId("skip-why").textContent = "";
    dialog.close();
    skip(reason);
  });
}
