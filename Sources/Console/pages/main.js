// Signing in, and which page is shown. The token is held in this page's memory only: never in
// storage or in the address, and it is lost when the tab is closed.

import { ask, h, hasToken, session, setToken } from "./draw.js";
import { overview } from "./overview.js";
import { customer } from "./customer.js";
import { rebuild } from "./rebuild.js";

const main = document.getElementById("main");
const nav = document.querySelector("nav");
const signOut = document.getElementById("sign-out");
const health = document.getElementById("health");
const foot = document.getElementById("foot");
const pages = { overview, customer, rebuild };
let page = null;
/// Grows with every page shown, so that a page knows when another one has replaced it.
let showing = 0;

/// The page that the address names, and its arguments.
function route() {
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
  nav.hidden = signOut.hidden = true;
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
  const submit = async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return field.focus();
    setToken(field.value.trim());
    try {
      await ask("/v1/entitlements?limit=1");
    } catch (error) {
      if (error.status === 401) return;
      // A projection that is still being built is no reason to refuse the token.
      if (error.status !== 503) return signIn(error.detail);
    }
    if (hasToken()) show(true);
  };
  main.replaceChildren(h("section", { class: "sign-in card", "aria-labelledby": "sign-in" },
    h("h1", { id: "sign-in" }, "Sign in"),
    h("p", { class: "soft small" },
      "Use a read token of the configuration. It is held in this tab’s memory only, and is lost when you close or reload the tab."
      ),
    h("form", { onsubmit: submit },
      h("label", { for: "token" }, "Read token", field),
      complaint ? h("p", { id: "complaint", class: "note red small", role: "alert" },
        complaint) : null,
      h("button", { class: "main", type: "submit" }, "Sign in"))));
  field.focus();
}

session.refused = () => {
  if (!hasToken()) return;
  setToken("");
  signIn("This token is not valid.");
};

async function show(isMove) {
  if (!hasToken()) return signIn();
  const { name, rest } = route();
  nav.hidden = signOut.hidden = false;
  for (const link of nav.querySelectorAll("a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · Subledger`;
  page?.end?.();
  showing += 1;
  const mine = showing;
  // Before the page is drawn, because a page may move the focus.
  if (isMove) main.focus({ preventScroll: true });
  page = pages[name](main, rest, () => mine === showing);
  window.scrollTo(0, 0);
  showState();
}

/// Shows in the corner of every page whether the daemon is ready, and its versions in the footer.
async function showState() {
  try {
    const answer = await fetch("/readyz", { cache: "no-store", credentials: "omit" });
    const body = await answer.json();
    health.className = answer.ok ? "green" : "red";
    health.textContent = answer.ok ? "Ready" : `Not ready: ${body.code}`;
    if (!hasToken()) return;
    const version = await ask("/version");
    foot.replaceChildren(
      h("span", {}, `Subledger ${version.version}`), h("span", {}, `fold ${version.fold}`),
      ...(version.digest ? [h("span", { title: version.digest },
        `projection ${version.digest.slice(0, 12)}`)] : []),
      h("span", {}, `SQLite ${version.sqlite}`), h("a", { href: "/openapi.json" },
        "openapi.json"));
  } catch {
    health.className = "red";
    health.textContent = "No answer";
  }
}

signOut.addEventListener("click", () => {
  setToken("");
  signIn();
});
window.addEventListener("hashchange", () => show(true));
setInterval(() => { if (!document.hidden) showState(); }, 15000);
showState();
signIn();
