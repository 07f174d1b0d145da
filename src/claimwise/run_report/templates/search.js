"use strict";
(() => {
  const box = document.getElementById("search");
  if (!box) return;
  const field = box.querySelector("input");
  const told = box.querySelector("output");
  const groups = [...document.querySelectorAll("details.group")];
  let cards = null;
  const readCards = () => groups.flatMap((group) =>
    [...group.querySelectorAll(".answer-card")].map((card) => ({
      card, group, text: card.textContent.toLowerCase(), claims: card.querySelectorAll(".claims > li").length,
    })));
  const search = () => {
    cards ??= readCards();
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = new Set();
    let claims = 0;
    for (const one of cards) {
      const fits = words.every((word) => one.text.includes(word));
      one.card.hidden = !fits;
      if (fits) { shown.add(one.group); claims += one.claims; }
    }
    for (const group of groups) {
      group.hidden = !shown.has(group);
      if (words.length) group.open = shown.has(group);
    }
    told.textContent = words.length ? `${claims} ${claims === 1 ? "claim" : "claims"} found` : "";
  };
  box.hidden = false;
  field.addEventListener("input", search);
  // Older browsers print what is open; newer ones do so by the page's style.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = groups.filter((group) => !group.open);
    closed.forEach((group) => { group.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((group) => { group.open = false; }));
})();
