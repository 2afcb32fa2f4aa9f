// What the pages do beyond links and forms: a chat that goes on by itself, files that are dropped, the Enter key.
"use strict";

(() => {
  const chat = document.querySelector("[data-chat]");
  const turns = document.getElementById("turns");
  const composer = document.querySelector("[data-composer]");
  const tabs = "BroadcastChannel" in window ? new BroadcastChannel("signoff") : null;
  const unfinished = ["queued", "running", "waiting_approval"];

  const token = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const changed = () => document.body.dispatchEvent(new CustomEvent("signoff:changed"));

  function toast(text) {
    const line = document.createElement("div");
    line.className = "toast";
    line.setAttribute("role", "alert");
    line.textContent = text;
    document.getElementById("toasts").append(line);
  }

  // A toast goes when it was read or another says the same; a press takes it away at once.
  const toasts = document.getElementById("toasts");
  if (toasts) {
    new MutationObserver((records) => {
      for (const added of records.flatMap((record) => [...record.addedNodes])) {
        for (const one of [...toasts.children]) if (one !== added && one.textContent === added.textContent) one.remove();
        setTimeout(() => added.remove(), 9000);
      }
      while (toasts.children.length > 3) toasts.firstElementChild.remove();
    }).observe(toasts, { childList: true });
    toasts.addEventListener("click", (event) => event.target.closest(".toast")?.remove());
  }

  // --- a chat that goes on -------------------------------------------------------------------------------------

  let source = null;
  let pause = 500;
  let drawing = Promise.resolve();

  const page = document.scrollingElement;
  const atEnd = () => page.scrollHeight - page.scrollTop - page.clientHeight < 120;

  // Whoever reads further up is left there; whoever is at the end stays at the end.
  // A card that is new and long is shown from its top: it is there to be read.
  async function keepingEnd(change) {
    const end = atEnd();
    const cards = () => [...turns.querySelectorAll('.card[data-status="open"]')];
    const known = new Set(cards().map((card) => card.id));
    await change();
    if (!end) return;
    const card = cards().find((one) => !known.has(one.id));
    if (card && card.offsetHeight > window.innerHeight * 0.6) card.scrollIntoView({ block: "start" });
    else page.scrollTop = page.scrollHeight;
  }

  // A card that shows something else all at once takes no press for a moment: what is signed has to be seen first.
  function lookAgain(card) {
    card.dataset.changed = "";
    setTimeout(() => { delete card.dataset.changed; }, 1500);
    document.getElementById("announce").textContent = "The card has changed. Look again.";
  }

  // What this tab was told about its own press is known to no other: a card that is drawn anew, and shows the same, keeps it.
  function keepNote(shown, card) {
    const note = shown.querySelector(":scope > header > [role=alert]");
    if (note && shown.dataset.status === card.dataset.status) card.querySelector(":scope > header").append(note.cloneNode(true));
  }

  document.body.addEventListener("htmx:before:request", (event) => {
    if (!event.target.closest?.("[data-card][data-changed]")) return;
    event.preventDefault();
    toast("This card has just changed. Look again, then decide.");
  });

  function put(html) {
    drawing = drawing.then(() => keepingEnd(async () => {
      const holder = document.createElement("template");
      holder.innerHTML = html;
      const fresh = holder.content.firstElementChild;
      for (const card of fresh.querySelectorAll("[data-card]")) {
        const shown = document.getElementById(card.id);
        if (shown && shown.dataset.revision !== card.dataset.revision) lookAgain(shown);
        else if (shown) keepNote(shown, card);
      }
      const there = document.getElementById(fresh.id);
      if (there) return htmx.swap({ text: fresh.outerHTML, target: there, swap: "outerMorph" });
      if (fresh.matches(".turn")) return htmx.swap({ text: html, target: turns, swap: "beforeend" });
      // The first words of an answer take the place that says that the model thinks.
      document.querySelector(`#turn-${fresh.id.split("-")[1]} > .foot`)?.before(fresh);
    }));
    return drawing;
  }

  function announce(html) {
    const said = { waiting_approval: "An approval is needed.", done: "Done.", failed: "This could not be finished." };
    const status = /data-status="(\w+)"/.exec(html)?.[1];
    const line = document.getElementById("announce");
    if (said[status] && line.textContent !== said[status]) line.textContent = said[status];
  }

  function next() {
    const all = [...turns.querySelectorAll(".turn")];
    const open = all.find((turn) => unfinished.includes(turn.dataset.status));
    if (open) return Number(open.dataset.task);
    return all.length ? Number(all.at(-1).dataset.task) + 1 : Number(chat.dataset.next);
  }

  function linked(is) {
    const line = document.getElementById("link-state");
    if (line) line.hidden = is;
  }

  function follow() {
    source?.close();
    source = new EventSource(`/chat/${chat.dataset.chat}/live?from=${next()}`);
    source.addEventListener("open", () => { pause = 500; linked(true); });
    source.addEventListener("turn", (event) => { put(event.data).then(changed); announce(event.data); });
    source.addEventListener("text", (event) => put(event.data));
    source.addEventListener("idle", () => { source.close(); source = null; linked(true); });
    source.addEventListener("error", () => {
      linked(false);
      // A browser comes back by itself, but not after an answer that was an error.
      if (source?.readyState !== EventSource.CLOSED) return;
      source = null;
      setTimeout(() => { if (!source) follow(); }, pause);
      pause = Math.min(pause * 2, 15000);
    });
  }

  if (chat && document.getElementById("composer")) {
    if (chat.dataset.follow) follow();
    const lookAgain = () => { if (!document.hidden && !source) follow(); };
    document.addEventListener("visibilitychange", lookAgain);
    window.addEventListener("focus", lookAgain);
    window.addEventListener("online", lookAgain);
    tabs?.addEventListener("message", (event) => { if (event.data === chat.dataset.chat && !source) follow(); });
    page.scrollTop = page.scrollHeight;
  }

  // --- saying something ----------------------------------------------------------------------------------------

  if (composer) {
    const text = composer.querySelector("textarea");
    const files = composer.querySelector("[data-files]");
    const chosen = composer.querySelector("[data-chosen]");
    const touch = window.matchMedia("(pointer: coarse)").matches;

    const fresh = () => { composer.elements.key.value = token(); };
    const show = () => {
      chosen.replaceChildren(...[...files.files].map((file) => {
        const item = document.createElement("li");
        item.className = "chip";
        item.textContent = file.name;
        return item;
      }));
    };
    // While a card is open that whoever writes may have changed, that is what a plain answer does.
    const usual = text.placeholder;
    const hint = () => { text.placeholder = turns?.querySelector(".card details.changes") ? "What should be different? …" : usual; };
    fresh();
    hint();
    document.body.addEventListener("signoff:changed", hint);
    files.addEventListener("change", show);
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || touch) return;
      event.preventDefault();
      composer.requestSubmit();
    });
    composer.addEventListener("htmx:before:request", (event) => {
      if (!text.value.trim() && !files.files.length) event.preventDefault();
    });
    composer.addEventListener("htmx:after:request", (event) => {
      if (event.detail.ctx.response.status >= 400) return;
      text.value = "";
      files.value = "";
      show();
      fresh();
    });
    composer.addEventListener("htmx:after:swap", () => {
      page.scrollTop = page.scrollHeight;
      if (chat && !source) follow();
      if (chat) tabs?.postMessage(chat.dataset.chat);
    });
    for (const button of document.querySelectorAll("[data-say]")) {
      button.addEventListener("click", () => { text.value = button.dataset.say; composer.requestSubmit(); });
    }
    droppable(composer, (dropped) => { files.files = dropped; show(); text.focus(); });
  }

  document.body.addEventListener("htmx:error", () => toast("The server cannot be reached. What you wrote is still here; try again."));
  document.body.addEventListener("htmx:after:swap", (event) => {
    if (event.target.closest?.("[data-card]") || event.detail.ctx.target?.dataset?.card) {
      changed();
      if (chat) tabs?.postMessage(chat.dataset.chat);
    }
  });

  // --- files ---------------------------------------------------------------------------------------------------

  function droppable(element, take) {
    const over = (is) => (event) => { event.preventDefault(); element.classList.toggle("drop", is); };
    element.addEventListener("dragover", over(true));
    element.addEventListener("dragleave", over(false));
    element.addEventListener("drop", (event) => {
      over(false)(event);
      if (event.dataTransfer.files.length) take(event.dataTransfer.files);
    });
  }

  const zone = document.querySelector("[data-upload]");

  async function send(file, replace) {
    const query = new URLSearchParams({ folder: zone.dataset.folder, name: file.name, replace });
    const answer = await fetch(`${zone.dataset.upload}?${query}`, {
      method: "POST",
      body: file,
      headers: { "Content-Type": "application/octet-stream", "X-CSRF-Token": document.body.dataset.csrf },
    });
    if (answer.ok) return true;
    const error = (await answer.json().catch(() => ({})))?.error ?? { message: "The file could not be sent." };
    if (error.code === "exists" && !replace && window.confirm(`There is a file ${file.name} already. Replace it?`)) return send(file, true);
    if (error.code !== "exists") toast(`${file.name}: ${error.message}`);
    return false;
  }

  async function upload(files) {
    const state = zone.querySelector("[data-state]");
    let sent = 0;
    for (const file of files) {
      state.textContent = `Sending ${file.name} …`;
      if (file.size > Number(zone.dataset.limit)) {
        toast(`${file.name} is larger than the ${Math.floor(zone.dataset.limit / 1048576)} MiB that can be sent.`);
        continue;
      }
      try {
        if (await send(file, false)) sent += 1;
      } catch {
        toast(`${file.name}: the server cannot be reached.`);
      }
    }
    state.textContent = sent ? "Sent." : "";
    if (sent) window.location.reload();
  }

  if (zone) {
    const files = zone.querySelector("input[type=file]");
    files.addEventListener("change", () => upload([...files.files]));
    droppable(zone, (dropped) => upload([...dropped]));
  }

  // Filters apply as soon as they are chosen.
  for (const form of document.querySelectorAll("[data-filters]")) {
    form.addEventListener("change", () => form.requestSubmit());
  }
})();
