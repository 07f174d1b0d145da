// Keys that are printed on buttons and links: data-key names them.

document.addEventListener("keydown", (event) => {
  const writing = event.target.matches?.("input, textarea, select");
  if (writing && event.key === "Escape") event.target.blur();
  if (writing || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (localStorage.getItem("claimwise.keys") === "off") return;
  const found = Array.from(document.querySelectorAll("[data-key]")).find((one) => one.dataset.key === event.key);
  if (!found) return;
  event.preventDefault();
  if (found.matches("input")) found.focus();
  else found.click();
});
