// The console: signing in, and which page is shown. The token lives in this page's memory alone: it
// is in no storage and in no address, and goes with the tab.

import { ask, door, h, hasToken, setToken } from "./draw.js";
import { overview } from "./overview.js";
import { customer } from "./customer.js";
import { rebuild } from "./rebuild.js";

const main = document.getElementById("main");
const nav = document.querySelector("nav");
const leave = document.getElementById("leave");
const health = document.getElementById("health");
const foot = document.getElementById("foot");
const pages = { overview, customer, rebuild };
let page = null;
let showing = 0;

function place() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { name: pages[name] ? name : "overview", rest: rest.map(decode) };
}

function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function signIn(complaint) {
  page?.end?.();
  page = null;
  showing += 1;
  nav.hidden = leave.hidden = true;
  foot.replaceChildren();
  document.title = "Sign in · Subledger";
  const field = h("input", {
    type: "password",
    id: "token",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": complaint ? "complaint" : null,
    "aria-invalid": complaint ? "true" : null,
  });
  const enter = async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return field.focus();
    setToken(field.value.trim());
    try {
      await ask("/v1/entitlements?limit=1");
    } catch (error) {
      if (error.status === 401) return;
      // Rows that are being built are no reason to stay outside.
      if (error.status !== 503) return signIn(error.detail);
    }
    if (hasToken()) show(true);
  };
  main.replaceChildren(h("section", { class: "door card", "aria-labelledby": "door" },
    h("h1", { id: "door" }, "Sign in"),
    h("p", { class: "soft small" },
      "With a read token of the configuration. It stays in this tab’s memory and is gone when you close or reload it."
      ),
    h("form", { onsubmit: enter },
      h("label", { for: "token" }, "Read token", field),
      complaint ? h("p", { id: "complaint", class: "note red small", role: "alert" },
        complaint) : null,
      h("button", { class: "main", type: "submit" }, "Open"))));
  field.focus();
}

door.refused = () => {
  if (!hasToken()) return;
  setToken("");
  signIn("This token is not known here.");
};

async function show(isMove) {
  if (!hasToken()) return signIn();
  const { name, rest } = place();
  nav.hidden = leave.hidden = false;
  for (const link of nav.querySelectorAll("a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · Subledger`;
  page?.end?.();
  showing += 1;
  const mine = showing;
  // A page may put the focus elsewhere.
  if (isMove) main.focus({ preventScroll: true });
  page = pages[name](main, rest, () => mine === showing);
  window.scrollTo(0, 0);
  tell();
}

/// How the daemon is, in the corner of every page.
async function tell() {
  try {
    const answer = await fetch("/readyz", { cache: "no-store", credentials: "omit" });
    const body = await answer.json();
    health.className = answer.ok ? "green" : "red";
    health.textContent = answer.ok ? "Ready" : `Not ready: ${body.code}`;
    if (!hasToken()) return;
    const version = await (await fetch("/version", { cache: "no-store", credentials: "omit" }))
      .json();
    foot.replaceChildren(
      h("span", {}, `Subledger ${version.version}`), h("span", {}, `fold ${version.fold}`),
      h("span", { title: version.digest }, version.digest ?
        `rows ${version.digest.slice(0, 12)}` : "no rows yet"),
      h("span", {}, `SQLite ${version.sqlite}`), h("a", { href: "/openapi.json" },
        "openapi.json"));
  } catch {
    health.className = "red";
    health.textContent = "No answer";
  }
}

leave.addEventListener("click", () => {
  setToken("");
  signIn();
});
window.addEventListener("hashchange", () => show(true));
setInterval(() => { if (!document.hidden) tell(); }, 15000);
tell();
signIn();
