"use strict";
// Sorting of tables, tooltips, light and dark, and the numbers of figures as files.
(() => {
  const root = document.documentElement;

  // --- light and dark ---

  const theme = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const nameTheme = () => { theme.textContent = isDark() ? "Light mode" : "Dark mode"; };
  // Pages in a sandbox, as in notebooks, have no storage.
  const remember = (value) => { try { localStorage.setItem("sumwise-theme", value); } catch { /* none */ } };
  try {
    const known = localStorage.getItem("sumwise-theme");
    if (known === "light" || known === "dark") root.dataset.theme = known;
  } catch { /* none */ }
  theme.hidden = false;
  nameTheme();
  prefersDark.addEventListener("change", nameTheme);
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    nameTheme();
  });

  // --- tables ---

  const readCell = (row, place) => {
    const cell = row.cells[place];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const sortBy = (head) => {
    const table = head.closest("table");
    const body = table.tBodies[0];
    const place = head.cellIndex;
    const wasAscending = head.getAttribute("aria-sort") === "ascending";
    // The first click shows large numbers first.
    const isNumber = head.classList.contains("number");
    const sorted = head.hasAttribute("aria-sort");
    const ascending = sorted ? !wasAscending : !isNumber;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const rows = [...body.rows].map((row) => [readCell(row, place), row]);
    rows.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === ""); // empty cells are last
      return ascending ? compare(a, b) : compare(b, a);
    });
    body.append(...rows.map(([, row]) => row));
  };

  // --- tooltips ---

  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const show = (mark, x, y) => {
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 12, innerWidth - box.width - 8);
    const above = y - box.height - 10;
    tip.style.transform = `translate(${Math.max(8, left)}px, ${above < 8 ? y + 16 : above}px)`;
  };
  const find = (event) => event.target.closest?.("[data-tip]");
  document.addEventListener("pointermove", (event) => {
    const mark = find(event);
    if (mark) show(mark, event.clientX, event.clientY);
    else if (event.pointerType === "mouse") hide();
  });
  document.addEventListener("focusin", (event) => {
    const mark = find(event);
    if (!mark || !mark.matches(":focus-visible")) return;
    const box = mark.getBoundingClientRect();
    show(mark, box.left, box.top);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // --- clicks ---

  const figures = JSON.parse(document.getElementById("figures").textContent);
  const save = (key) => {
    const text = JSON.stringify(figures[key], null, 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = `${key}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (button?.dataset.figure) save(button.dataset.figure);
    else if (button?.parentElement.tagName === "TH") sortBy(button.parentElement);
    const mark = find(event);
    if (mark && event.clientX) show(mark, event.clientX, event.clientY);
    else if (!mark) hide();
  });

  // --- where the reader is ---

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "location");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const section of document.querySelectorAll("main > section")) watch.observe(section);
})();
