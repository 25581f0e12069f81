// Keeps a page up to date. Everything works without it.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const main = byId("main"), state = byId("state"), said = byId("live"), body = document.body;
  let last = Number(body.dataset.newest), loaded = body.dataset.state, source, slow, notify = false, spoken = 0, waits = "";

  // Our own server has escaped what others wrote.
  const policy = window.trustedTypes ? trustedTypes.createPolicy("substrate", { createHTML: (html) => html }) : { createHTML: (html) => html };
  const parse = (html) => new DOMParser().parseFromString(policy.createHTML(html), "text/html").body;

  const isTypedIn = (row) => {
    const at = document.activeElement;
    if (at && row.contains(at) && at.matches("input:not([type=hidden]), textarea, select")) return true;
    return [...row.querySelectorAll("textarea, input:not([type=hidden])")].some((field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked);
  };

  // Replaces a row and keeps focus, folds and scroll.
  const replace = (old, fresh) => {
    if (old.outerHTML === fresh.outerHTML || isTypedIn(old)) return;
    const focusable = "a, button, summary, [tabindex]";
    const at = document.activeElement;
    const index = old.contains(at) ? [...old.querySelectorAll(focusable)].indexOf(at) : -1;
    const folds = old.matches("details") ? [old] : [...old.querySelectorAll("details")];
    const into = fresh.matches("details") ? [fresh] : [...fresh.querySelectorAll("details")];
    folds.forEach((fold, n) => { if (into[n]) into[n].open = fold.open; });
    const places = [...old.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    old.replaceWith(fresh);
    fresh.querySelectorAll(".scroll").forEach((box, n) => { box.scrollLeft = places[n]; });
    if (index >= 0) (fresh.querySelectorAll(focusable)[index] || main).focus({ preventScroll: true });
  };

  const isInUse = (list) => list.matches(":hover") || list.contains(document.activeElement);

  // Rows come and go by their ids. They are not moved under the pointer or the focus.
  const merge = (list, fresh) => {
    const wanted = new Map([...fresh.children].filter((row) => row.id).map((row) => [row.id, row]));
    for (const row of [...list.children]) {
      if (!row.id || !wanted.has(row.id)) { if (!isTypedIn(row)) row.remove(); }
      else replace(row, wanted.get(row.id).cloneNode(true));
    }
    let before = null, moved = 0;
    for (const row of [...fresh.children]) {
      if (!row.id) { list.append(row.cloneNode(true)); continue; }
      let here = byId(row.id);
      if (!here) {
        here = row.cloneNode(true);
        here.classList.add("new");
        if (before) before.after(here); else list.prepend(here);
      } else if (here.previousElementSibling !== before && here.parentNode === list) {
        if (isInUse(list)) moved += 1;
        else if (before) before.after(here); else list.prepend(here);
      }
      before = here;
    }
    list.toggleAttribute("data-moved", moved > 0);
    offer();
  };

  // Sorted when the reader asks for it.
  const offer = () => {
    const moved = document.querySelector("[data-moved]");
    let button = byId("sort");
    if (!moved) { if (button) button.remove(); return; }
    if (button) return;
    button = document.createElement("a");
    button.id = "sort";
    button.className = "btn";
    button.href = body.dataset.here;
    button.textContent = "Rows moved: sort them";
    moved.before(button);
  };

  const showPage = (html) => {
    const fresh = parse(html);
    const lists = (root) => [...root.querySelectorAll("[data-rows]")].map((list) => list.id).join();
    const wanted = lists(fresh);
    for (const list of main.querySelectorAll("[data-rows][id]")) {
      const now = fresh.querySelector("#" + CSS.escape(list.id));
      if (now) merge(list, now);
    }
    for (const now of fresh.querySelectorAll("[data-row][id]")) {
      const old = byId(now.id);
      if (old && !now.closest("[data-rows]")) replace(old, now);
    }
    // The page has other parts now.
    if (lists(main) !== wanted && !isTypedIn(main)) main.replaceChildren(...parse(html).childNodes);
  };

  const showNav = (title, views) => {
    loaded = "";
    for (const [path, count, word] of views) {
      const link = document.querySelector('#views a[href="' + path + '"]');
      if (!link) continue;
      let mark = link.querySelector(".count");
      if (count > 0 && !mark) { mark = document.createElement("span"); mark.className = "count"; link.append(" ", mark); }
      if (path === "/health") {
        const sign = count ? "error" : "done", icon = document.querySelector("#pulse .i");
        icon.setAttribute("class", "i " + sign);
        icon.firstChild.setAttribute("href", "#i-" + sign);
        byId("well").textContent = count ? count + " " + word : "Healthy";
      }
      if (count > 0) {
        const words = document.createElement("span");
        words.className = "sr";
        words.textContent = " " + word;
        mark.replaceChildren(String(count), words);
      } else if (mark) mark.remove();
    }
    document.title = title + " · Substrate";
    const [, count, word] = views[0] || [];
    const text = count === undefined ? "" : count + " " + word;
    if (text !== waits && Date.now() - spoken > 30000) { said.textContent = text; spoken = Date.now(); waits = text; }
  };

  const seen = (id) => {
    last = Math.max(last, id);
    byId("newest").textContent = String(last);
    state.textContent = "live";
  };

  const follow = () => {
    if (source) return;
    source = new EventSource("/stream?after=" + last + "&state=" + loaded + "&page=" + encodeURIComponent(body.dataset.here));
    source.addEventListener("open", () => { state.textContent = "live"; });
    source.addEventListener("error", () => {
      state.textContent = "not live: waiting for the daemon";
      if (source && source.readyState === EventSource.CLOSED) { source = undefined; setTimeout(follow, 5000); }
    });
    source.addEventListener("entries", (event) => {
      seen(Number(event.lastEventId));
      window.dispatchEvent(new CustomEvent("substrate:entries", { detail: JSON.parse(event.data) }));
    });
    source.addEventListener("rows", (event) => {
      const { title, nav, rows } = JSON.parse(event.data);
      for (const html of rows) {
        // A row of a table is parsed inside one.
        const tag = /^<(\w+)/.exec(html)[1];
        const root = parse(tag === "tr" ? "<table>" + html + "</table>" : html);
        const fresh = root.querySelector("[data-row]"), old = fresh && byId(fresh.id);
        if (old) replace(old, fresh);
      }
      showNav(title, nav);
    });
    source.addEventListener("page", (event) => {
      const { title, nav, main: html } = JSON.parse(event.data);
      showPage(html);
      showNav(title, nav);
    });
  };

  const rest = () => {
    if (source) source.close();
    source = undefined;
    state.textContent = "resting while the tab is hidden";
  };

  // A browser has six connections: a hidden tab looks once a minute.
  const choose = () => {
    clearInterval(slow);
    if (!document.hidden || notify) return follow();
    slow = setInterval(() => { follow(); setTimeout(() => { if (document.hidden && !notify) rest(); }, 2000); }, 60000);
    setTimeout(() => { if (document.hidden && !notify) rest(); }, 10000);
  };
  document.addEventListener("visibilitychange", choose);
  window.addEventListener("pagehide", rest);
  window.addEventListener("pageshow", choose);
  choose();

  // Lanes open at their live edge, or at the chosen moment.
  for (const box of document.querySelectorAll("[data-live-edge]")) {
    const now = box.querySelector(".now");
    box.scrollLeft = now ? parseFloat(now.getAttribute("x1")) / 100 * box.scrollWidth - box.clientWidth / 2 : box.scrollWidth;
  }

  // The scrubber goes to its moment when it is let go.
  document.addEventListener("change", (event) => {
    if (event.target.matches(".scrub input[type=range]")) event.target.form.requestSubmit();
  });

  // Notifications, from one tab of this browser.
  let told, asking = 0;
  const wants = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem("notify") === "on";
  const tell = async () => {
    if (!wants() || Date.now() - asking < 3000) return;
    asking = Date.now();
    const answer = await fetch("/api/needs").catch(() => null);
    if (!answer || !answer.ok) return;
    const needs = (await answer.json()).needs, ids = needs.map((need) => need.id + need.since_ms);
    const fresh = told ? needs.filter((need, n) => !told.has(ids[n])) : [];
    told = new Set(ids);
    if (!fresh.length || (!document.hidden && document.hasFocus())) return;
    const [one] = fresh, many = fresh.length > 1;
    const title = many ? fresh.length + " things wait for you" : one.agent + " " + one.reason;
    const body = many ? fresh.map((need) => need.agent + " " + need.reason).join("\n") : one.text.slice(0, 300);
    const note = new Notification(title, { body, tag: "substrate" });
    note.onclick = () => { window.focus(); location.assign("/"); note.close(); };
  };
  const offerNotes = () => {
    const on = byId("notify-on"), off = byId("notify-off"), line = byId("notify-state");
    if (!on) return;
    const can = "Notification" in window;
    on.hidden = !can || wants();
    off.hidden = !wants();
    line.textContent = !can ? "This browser has no notifications." : Notification.permission === "denied" ? "This browser refuses them; its own settings can allow them." : wants() ? "On, in this browser." : "Off, in this browser.";
    on.onclick = async () => { await Notification.requestPermission(); localStorage.setItem("notify", "on"); offerNotes(); notes(); };
    off.onclick = () => { localStorage.setItem("notify", "off"); offerNotes(); };
  };
  const notes = () => {
    if (!wants() || notify || !navigator.locks) return;
    navigator.locks.request("substrate-notify", () => { notify = true; choose(); tell(); return new Promise(() => {}); });
    setInterval(tell, 30000);
  };
  window.addEventListener("substrate:entries", () => { if (notify) tell(); });
  offerNotes();
  notes();
})();
