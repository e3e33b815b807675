"use strict";
// Optional: every page works without this script. The theme is set first, to avoid a flash.
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
    // If the browser forbids copying, select the text instead.
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
    try { localStorage.theme = root.dataset.theme; } catch { /* The theme then applies to this page only. */ }
    tell();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    document.getElementById("search").focus();
  });
});
