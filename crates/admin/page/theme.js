// Light, dark, or what the system says. Remembered by the browser.

import { byId, put } from "./dom.js";

const THEMES = ["auto", "light", "dark"];

export function start() {
  let theme = remembered();
  const show = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    put(byId("theme"), `Theme: ${theme}`);
  };
  byId("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // It may be forbidden; then it lasts as long as the page.
    }
    show();
  });
  show();
}

function remembered() {
  try {
    const theme = localStorage.getItem("theme");
    return THEMES.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}
