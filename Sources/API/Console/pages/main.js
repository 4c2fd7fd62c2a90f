// Signing in, the header, and which page is shown.

import { address, ask, hasToken, scope, session, setScope, setToken } from "./api.js";
import { code, h, link, note, soft, time } from "./draw.js";
import { customer, find } from "./customer.js";
import { events } from "./events.js";
import { overview } from "./overview.js";
import { quarantine } from "./quarantine.js";
import { rebuild } from "./rebuild.js";
import { recovery } from "./recovery.js";
import { refunds } from "./refunds.js";
import { reports } from "./reports.js";
import { sinks } from "./sinks.js";
import { subscription } from "./subscription.js";
import { subscriptions } from "./subscriptions.js";

const element = (name) => document.getElementById(name);
const [main, search, signOut, health, foot] = ["main", "find", "sign-out", "health", "foot"]
  .map(element);
const nav = document.querySelector("header nav");
const titles = { overview: "Overview", subscriptions: "Subscriptions", events: "Events",
  refunds: "Refunds", reports: "Reports", quarantine: "Quarantine", sinks: "Sinks", recovery: "Recovery", rebuild: "Rebuild" };
const pages = { overview, subscriptions, events, refunds, reports, quarantine, sinks, recovery, rebuild,
  subscription, customer, find };
/// The entry of the navigation that a page without one belongs to.
const parents = { subscription: "subscriptions", customer: "subscriptions", find: "subscriptions" };
let page = null;
/// Grows with every page shown, so that a page knows when another one has replaced it.
let showing = 0;

/// The page that the address names, its path and its parameters.
function route() {
  const [path, parameters] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return { name: pages[name] ? name : "overview", rest: rest.map(decode),
    parameters: new URLSearchParams(parameters) };
}

function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// MARK: Signing in

function signIn(complaint) {
  page?.end?.();
  page = null;
  showing += 1;
  nav.hidden = signOut.hidden = search.hidden = true;
  foot.replaceChildren();
  document.title = "Sign in · Subledger";
  const field = h("input", {
    type: "password", id: "token", required: true, autocomplete: "off", spellcheck: "false",
    "aria-describedby": complaint ? "complaint" : null, "aria-invalid": complaint ? "true" : null,
  });
  const submit = async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return field.focus();
    setToken(field.value.trim());
    await begin();
  };
  main.replaceChildren(h("section", { class: "sign-in card", "aria-labelledby": "sign-in" },
    h("h1", { id: "sign-in" }, "Sign in"),
    h("p", { class: "soft small" }, "Use a read token of the configuration. This tab remembers it ",
      "until you sign out or close the tab."),
    h("form", { onsubmit: submit },
      h("label", { for: "token" }, "Read token", field),
      complaint ? h("p", { id: "complaint", class: "note red small", role: "alert" },
        complaint) : null,
      h("button", { class: "main", type: "submit" }, "Sign in")),
    h("details", {}, h("summary", {}, "I have no token"),
      h("p", { class: "soft small" }, code("subledger init"), " prints one. For another, choose a ",
        "text and add its SHA-256 to ", code("readTokens"), " of the configuration: ",
        code("printf %s \"$TOKEN\" | sha256sum")))));
  field.focus();
}

/// Learns which apps the token may see, and shows the page of the address.
async function begin() {
  try {
    const [overview, version] = await Promise.all([ask("/v1/overview?hours=1"), ask("/version")]);
    scope.apps = overview.apps;
    session.may = version.may ?? [];
  } catch (error) {
    if (error.status === 401) return;
    // A journal that cannot be read yet is no reason to refuse the token.
    if (error.status === 403) {
      setToken("");
      return signIn("This token may not read. Use one with the permission “read”.");
    }
  }
  if (hasToken()) show(true);
}

session.refused = () => {
  if (!hasToken()) return;
  setToken("");
  signIn("This token is not valid.");
};

// MARK: The header

function drawNavigation(name) {
  const current = parents[name] ?? name;
  nav.replaceChildren(...Object.entries(titles).map(([page, title]) => h("a", {
    href: address(page === "overview" ? "" : page), "data-page": page,
    "aria-current": page === current ? "page" : null,
    // The page that is shown is asked for again.
    onclick: () => { if (location.hash === address(page === "overview" ? "" : page)) show(true); },
  }, title)));
  document.querySelector(".mark").href = address("");
}

function drawSearch() {
  const field = h("input", { type: "search", id: "q", spellcheck: "false", autocomplete: "off",
    placeholder: "Find by id", "aria-label": "Find by id",
    title: "Transaction id, notification UUID, app account token, app transaction id, or your own " +
      "account" });
  const go = (event) => {
    event.preventDefault();
    const next = address("find", [field.value.trim()]);
    if (!field.value.trim()) return;
    if (location.hash === next) show(true);
    else location.hash = next;
  };
  search.replaceChildren(h("form", { onsubmit: go, role: "search" }, field,
    h("button", { type: "submit" }, "Find")));
}

// MARK: Pages

async function show(isMove) {
  if (!hasToken()) return signIn();
  const { name, rest, parameters } = route();
  setScope(parameters);
  nav.hidden = signOut.hidden = search.hidden = false;
  drawNavigation(name);
  document.title = `${titles[name] ?? rest[0] ?? "Find"} · Subledger`;
  page?.end?.();
  showing += 1;
  const mine = showing;
  const isShown = () => mine === showing;
  // Before the page is drawn, because a page may move the focus.
  if (isMove) main.focus({ preventScroll: true });
  main.replaceChildren(h("p", { class: "soft", role: "status" }, "Loading…"));
  window.scrollTo(0, 0);
  showState();
  const shown = { rest, query: Object.fromEntries(parameters), isShown, end: null };
  page = { end: () => shown.end?.() };
  try {
    await pages[name](main, shown);
  } catch (error) {
    if (isShown() && error.status !== 401) fail(error);
  }
}

function fail(error) {
  main.replaceChildren(h("div", { class: "stack" }, error.status === 403
    ? note("amber", "This token may not see that. It is limited to some apps or environments, or ",
      "it has no permission to read.")
    : note("red", error.detail ?? String(error)),
  error.status === 403 ? null : soft("Choose the page again to try again.")));
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
    foot.replaceChildren(h("span", {}, `Subledger ${version.version}`),
      h("span", {}, `fold ${version.fold}`),
      ...(version.digest ? [h("span", { title: version.digest },
        `projection ${version.digest.slice(0, 12)}`)] : []),
      h("span", {}, `SQLite ${version.sqlite}`), link("/openapi.json", "openapi.json"),
      h("span", {}, time(Date.now(), (ms) => `${new Date(ms).toISOString().slice(11, 16)} UTC`)));
  } catch {
    health.className = "red";
    health.textContent = "No answer";
  }
}

signOut.addEventListener("click", () => {
  setToken("");
  scope.apps = [];
  history.replaceState(null, "", location.pathname);
  signIn();
});
window.addEventListener("hashchange", () => show(true));
setInterval(() => { if (!document.hidden) showState(); }, 15000);
showState();
drawSearch();
if (hasToken()) begin();
else signIn();
