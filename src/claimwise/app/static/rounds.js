// Finds runs while one types: all of them, not only those that the page came with.

import { get } from "./api.js";

const DELAY = 150; // ms after the last letter
const field = document.getElementById("run");
let timer = 0;

async function find() {
  const { runs } = await get(`/api/find-runs?q=${encodeURIComponent(field.value)}`);
  const options = runs.map((run) => {
    const started = run.started_at.slice(0, 16).replace("T", " ");
    return new Option(`${run.system}, ${started}`, run.run_id);
  });
  document.getElementById("runs").replaceChildren(...options);
}

field?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(find, DELAY);
});
