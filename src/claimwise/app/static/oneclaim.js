// Any claim on the desk, outside of rounds: one verdict, then back to its answer.

import { post, readData } from "./api.js";
import { LabelForm, connectDialogs, listenToKeys, openDialog } from "./label_form.js";

const data = readData("desk-data");
const { task } = data;
const form = new LabelForm({ onChange: () => undefined, onChoice: save });
let saving = false;

async function save(choice) {
  if (saving) return;
  saving = true;
  form.say(`Saving ${choice.verdict} …`);
  const key = { run_id: task.run_id, item_id: task.item_id, claim_id: task.claim_id };
  try {
    await post("/api/claims/label", { ...choice, ...key });
    form.say(`Saved: ${choice.verdict}.`, "good");
    location.assign(data.next);
  } catch (error) {
    saving = false;
    form.say(`Not saved: ${error.message}`, "bad");
  }
}

function press(event) {
  if (form.press(event)) return true;
  if (event.key !== "?" && event.key !== "g") return false;
  if (event.key === "?") openDialog("rules-dialog", document.activeElement?.dataset?.verdict);
  else window.open(document.getElementById("guide-link").href, "_blank", "noopener");
  return true;
}

connectDialogs({});
listenToKeys(press);
document.getElementById("rules").addEventListener("click", () => openDialog("rules-dialog"));
const { mine } = task;
form.show({ task, stale: data.stale }, mine && { ...mine, span_text: mine.supporting_span });
if (mine) form.say(`You labelled this claim: ${mine.verdict}. A new verdict replaces it.`);
document.getElementById("desk").dataset.ready = "true";
