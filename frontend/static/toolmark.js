// Comfort only: every page works without it. `/` goes to the search box, blocks can be copied, the theme can be set.
(() => {
  "use strict";
  const root = document.documentElement;
  const THEMES = ["system", "light", "dark"];
  const stored = () => {
    try { return localStorage.getItem("theme"); } catch { return null; }
  };
  const apply = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };
  // At once, before the first paint.
  apply(stored());

  const button = (label, className) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = className;
    made.textContent = label;
    return made;
  };

  const themeSwitch = () => {
    const list = document.querySelector("footer.site ul");
    if (!list) return;
    let at = Math.max(0, THEMES.indexOf(stored() ?? "system"));
    const item = document.createElement("li");
    const control = button("", "theme");
    const show = () => { control.textContent = `Theme: ${THEMES[at]}`; };
    control.addEventListener("click", () => {
      at = (at + 1) % THEMES.length;
      apply(THEMES[at]);
      try { localStorage.setItem("theme", THEMES[at]); } catch { /* it then lasts for this page */ }
      show();
    });
    show();
    item.append(control);
    list.append(item);
  };

  const copyButtons = () => {
    if (!navigator.clipboard) return;
    for (const block of document.querySelectorAll(".copyable")) {
      const text = block.textContent;
      const control = button("Copy", "copy");
      control.setAttribute("aria-label", block.matches("pre") ? `Copy ${block.getAttribute("aria-label")}` : `Copy ${text}`);
      control.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(text);
          control.textContent = "Copied";
        } catch {
          control.textContent = "Select and copy by hand";
        }
        setTimeout(() => { control.textContent = "Copy"; }, 2000);
      });
      if (block.matches("pre")) {
        const wrap = document.createElement("div");
        wrap.className = "copy-wrap";
        block.replaceWith(wrap);
        wrap.append(block, control);
      } else {
        block.append(control);
      }
    }
  };

  const slashKey = () => {
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
      const box = document.getElementById("q");
      if (!box) return;
      event.preventDefault();
      box.focus();
      box.select();
    });
  };

  document.addEventListener("DOMContentLoaded", () => {
    themeSwitch();
    copyButtons();
    slashKey();
  });
})();
