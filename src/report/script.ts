/**
 * What the page does by itself: tooltips, the filter, opening what a link names, marking what a node of the graph is
 * tied to, opening everything for the printer, and, where it is served, following the lake. Without it the page is
 * complete, only quieter.
 */
export const SCRIPT = String.raw`
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  const tip = $(".tip");
  document.addEventListener("pointerover", (event) => {
    const target = event.target.closest?.("[data-tip]");
    if (!target) { tip.hidden = true; return; }
    tip.textContent = target.dataset.tip;
    tip.hidden = false;
    const box = target.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(box.left + box.width / 2 - own.width / 2, 8), innerWidth - own.width - 8);
    const above = box.top - own.height - 8;
    tip.style.left = left + "px";
    tip.style.top = (above < 4 ? box.bottom + 8 : above) + "px";
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") {
      target.hidden = false;
      target.open = true;
      target.scrollIntoView();
      $("summary", target).focus({ preventScroll: true });
    }
  };
  addEventListener("hashchange", open);

  let wanted = "";
  const filter = () => {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const views = all("details.view");
    let shown = 0;
    for (const view of views) {
      const fits = words.every((word) => view.dataset.words.includes(word));
      view.hidden = !fits;
      if (fits) shown += 1;
    }
    $("#filter-count").textContent = words.length === 0 ? "" : shown + " of " + views.length;
  };

  const tie = (name) => {
    for (const edge of all("path.edge")) {
      edge.classList.toggle("tied", name !== null && (edge.dataset.from === name || edge.dataset.to === name));
    }
  };
  const nodeOf = (event) => event.target.closest?.("[data-node]")?.dataset.node ?? null;
  for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, (event) => tie(nodeOf(event)));

  const prepare = () => {
    const bar = $(".filter");
    if (!bar) return;
    bar.hidden = false;
    const input = $("#filter");
    input.value = wanted;
    input.addEventListener("input", () => { wanted = input.value; filter(); });
    filter();
  };
  prepare();
  open();

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of closed) details.open = false; });

  const every = Number(document.body.dataset.every);
  if (!every) return;
  const live = $(".live");
  live.hidden = false;
  live.textContent = "live";
  const show = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    const focused = document.activeElement?.id;
    const opened = all("details[open]").map((details) => details.id).filter(Boolean);
    const scrolled = $(".graph")?.scrollLeft ?? 0;
    $("main").replaceWith(page.querySelector("main"));
    document.title = page.title;
    for (const id of opened) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
    if ($(".graph")) $(".graph").scrollLeft = scrolled;
    prepare();
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };
  let tag = "";
  const look = async () => {
    try {
      const answer = await fetch(location.pathname, { headers: tag ? { "if-none-match": tag } : {}, cache: "no-store" });
      if (answer.status === 200) {
        // The first answer too: the lake may have changed since the page was loaded, whose own tag is not known here.
        show(await answer.text());
        tag = answer.headers.get("etag") ?? "";
      }
      const problem = answer.headers.get("x-lake-problem");
      live.textContent = problem ? "lake busy, shown as it was" : "live";
      live.classList.toggle("lost", Boolean(problem));
    } catch {
      live.textContent = "not connected";
      live.classList.add("lost");
    }
    setTimeout(look, every);
  };
  setTimeout(look, every);
})();
`;
