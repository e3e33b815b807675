"use strict";
// Comfort only: every page works without this. The theme comes first, so that nothing flashes.
const root = document.documentElement;
const themes = ["auto", "light", "dark"];
const remembered = () => {
  try { return themes.includes(localStorage.theme) ? localStorage.theme : "auto"; } catch { return "auto"; }
};
const wear = (theme) => { root.dataset.theme = theme; };
wear(remembered());

async function copy(button) {
  const code = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    // Where a browser does not let a page copy, the text is at least selected.
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
  const theme = document.getElementById("theme");
  const tell = () => { theme.textContent = `Theme: ${root.dataset.theme}`; };
  theme.hidden = false;
  tell();
  theme.addEventListener("click", () => {
    wear(themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length]);
    try { localStorage.theme = root.dataset.theme; } catch { /* It holds for this page then. */ }
    tell();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    document.getElementById("search").focus();
  });
});
