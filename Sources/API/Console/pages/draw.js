// Elements, numbers and times, as all pages show them.

import { address, curlCommand, scope } from "./api.js";

// MARK: Elements. Text from outside becomes text nodes and never markup.

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  const shown = (child) => child !== null && child !== undefined && child !== false;
  element.append(...children.flat(9).filter(shown));
  return element;
}
export const h = (name, attributes, ...children) =>
  build(document.createElement(name), attributes, children);
export const s = (name, attributes, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
export const fill = (parent, ...children) => {
  parent.replaceChildren();
  return build(parent, {}, children);
};

export const dot = (tone, shape = "") =>
  h("span", { class: `dot ${tone} ${shape}`, "aria-hidden": "true" });
export const pill = (tone, text) => h("span", { class: `pill ${tone}` }, dot(tone), text);
export const tag = (tone, text) => h("span", { class: `tag ${tone}` }, text);
export const code = (text) => h("code", {}, text);
export const soft = (...children) => h("p", { class: "soft" }, ...children);
export const note = (tone, ...children) =>
  h("p", { class: `note ${tone}`, role: tone === "red" ? "alert" : null }, ...children);
/// A text in which code is between backticks.
export const marked = (text) => text.split("`").map((part, at) => (at % 2 ? code(part) : part));
export const link = (href, ...children) => h("a", { href }, ...children);

const slug = (title) => `h-${title.toLowerCase().replace(/\W+/g, "-")}`;
export const card = (title, aside, ...children) => h("section",
  { class: "card", "aria-labelledby": slug(title) },
  h("div", { class: "head" }, h("h2", { id: slug(title) }, title), aside), ...children);

/// What a list shows that has nothing in it: what is missing, and what to do.
export const empty = (title, ...children) => h("div", { class: "empty" }, h("h3", {}, title),
  h("p", { class: "soft" }, ...children));

/// A table; at phone width each row becomes a block with its columns' names. A cell that is a
/// number is aligned to the right.
export function table(names, rows, kind = "") {
  const isNumber = (column) => typeof rows[0]?.[column] === "number" ||
    rows[0]?.[column]?.dataset?.number !== undefined;
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": names.join(", ") },
    h("table", { class: kind },
      h("thead", {}, h("tr", {}, names.map((name, column) =>
        h("th", { scope: "col", class: isNumber(column) ? "num" : null }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, column) =>
        h("td", { class: isNumber(column) ? "num" : null, "data-name": names[column] },
          typeof cell === "number" ? count(cell) : cell)))))));
}

/// A definition list; rows without a value are left out.
export const facts = (list) => h("dl", { class: "facts" }, list.filter(Boolean).map(
  ([name, shown, isChanged]) => h("div", { class: isChanged ? "changed" : null },
    h("dt", {}, name), h("dd", {}, shown))));

// MARK: Copying

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS, a browser offers no clipboard but on this machine.
    const area = h("textarea", { class: "visually-hidden", readonly: true }, text);
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

/// - text: a string, or a function that returns one.
export function copyButton(text, name = "Copy", what = "") {
  const button = h("button", { type: "button", class: "copy", "aria-label": what ?
    `${name} ${what}` : null }, name);
  button.addEventListener("click", async () => {
    button.textContent = await copy(typeof text === "function" ? text() : text) ? "Copied"
      : "Not copied";
    setTimeout(() => { button.textContent = name; }, 1500);
  });
  return button;
}

/// An id that can be copied.
export const id = (text, what = "id") => h("span", { class: "copied" },
  h("span", { class: "id" }, text), copyButton(text, "Copy", what));

/// A command for a shell.
export const command = (text) => h("div", { class: "command" },
  h("pre", { tabindex: "0", "aria-label": "Command" }, text), copyButton(text, "Copy", "command"));

/// What the daemon answered, as it is.
export function raw(value, name = "Raw JSON") {
  const text = JSON.stringify(value, null, 2);
  return h("details", { class: "raw" }, h("summary", {}, name),
    h("div", { class: "command" }, h("pre", { tabindex: "0", "aria-label": name }, text),
      copyButton(text, "Copy", name)));
}

/// Where a page's data comes from, with the commands that ask for the same.
export const sources = (...paths) => h("ul", { class: "sources soft small" },
  h("li", {}, "Times are UTC; hover for local time."),
  paths.map((path) => h("li", {}, code(`GET ${path.split("?")[0]}`), " ",
    copyButton(() => curlCommand(path), "Copy as curl", path.split("?")[0]))));

// MARK: Headings, filters, pages

/// The heading of a page. With a scope, the environment and the app can be chosen.
export function heading(title, { page, query, hasScope, aside } = {}) {
  const change = (name) => (value) => {
    location.hash = address(page, [], { ...query, after: "", [name]: value });
  };
  const apps = [...new Set(scope.apps.map((app) => app.bundle_id))].sort();
  return h("div", { class: "heading" }, h("h1", {}, title), aside, hasScope ?
    h("div", { class: "scope" },
      select("Environment", [["Production", "Production"], ["Sandbox", "Sandbox"],
        ["both", "Both environments"]], scope.environment, change("environment")),
      select("App", [["", "All apps"], ...apps.map((app) => [app, app])], scope.app,
        change("app"))) : null);
}

/// A choice by a list; `change` gets the chosen value.
export function select(name, options, value, change) {
  const chosen = options.some(([it]) => it === value) ? options : [...options, [value, value]];
  const id = `f-${name.toLowerCase().replace(/\W+/g, "-")}`;
  return h("label", { class: "field", for: id }, h("span", {}, name),
    h("select", { id, onchange: (event) => change(event.target.value) }, chosen.map(
      ([it, text]) => h("option", { value: it, selected: it === value }, text))));
}

/// A filter by text, which is used when it is committed.
export function input(name, value, change, placeholder = "") {
  const id = `f-${name.toLowerCase().replace(/\W+/g, "-")}`;
  return h("label", { class: "field", for: id }, h("span", {}, name),
    h("input", { type: "text", id, value, placeholder, spellcheck: "false", autocomplete: "off",
      onchange: (event) => change(event.target.value.trim()) }));
}

/// The cursors of the pages before, by the cursor of a page. A reload forgets them; then the first
/// page is offered in place of the previous one.
const before = new Map();

/// Links to the pages of a list.
export function pager(page, query, next) {
  const now = query.after ?? "";
  if (next) before.set(next, now);
  const previous = before.get(now);
  const to = (after) => address(page, [], { ...query, after });
  if (!now && !next) return null;
  return h("nav", { class: "pager", "aria-label": "Pages of the list" },
    now ? link(to(previous ?? ""), previous || before.has(now) ? "← Previous" : "← First page")
      : null,
    next ? link(to(next), "Next →") : h("span", { class: "soft" }, "No more"));
}

// MARK: Numbers and times. All times are UTC, as in Apple’s notifications and in the journal.

export const count = (number) => number.toLocaleString("en-US");
export const many = (number, one, more = `${one}s`) => `${count(number)} ${number === 1 ? one : more}`;
/// A number that leads to what it counts.
export const figure = (number, href) => (href && number ? h("a", { href, class: "num",
  "data-number": "" }, count(number)) : h("span", { class: "num", "data-number": "" },
  count(number)));

const iso = (ms) => {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
};
export const day = (ms) => iso(ms).slice(0, 10);
export const minute = (ms) => iso(ms).replace("T", " ").slice(0, 16);
export const exact = (ms) => `${iso(ms).replace("T", " ").slice(0, 19)} UTC`;
const local = (ms) => new Date(ms).toLocaleString("en-GB", { dateStyle: "medium",
  timeStyle: "long" });
const months = ["January", "February", "March", "April", "May", "June", "July", "August",
  "September", "October", "November", "December"];
/// "31 January 2026, 10:00 UTC".
export const longTime = (ms) => {
  const date = new Date(ms);
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}, ` +
    `${iso(ms).slice(11, 16)} UTC`;
};

/// A time with its exact and its local form on hover; a dash for none.
export function time(ms, text = minute, none = "–") {
  if (ms === null || ms === undefined) return none;
  const isDate = !Number.isNaN(new Date(ms).getTime());
  return h("time", { class: "num", datetime: isDate ? iso(ms) : null,
    title: isDate ? `${exact(ms)}\nLocal: ${local(ms)}` : null },
    typeof text === "function" ? text(ms) : text);
}

/// Milliseconds in words, as "3 days". Months and years are used from two on: 45 days, not 1 month.
export function span(ms) {
  const units = [["year", 31557600000, 2], ["month", 2629800000, 2], ["day", 86400000, 1],
    ["hour", 3600000, 1], ["minute", 60000, 1], ["second", 1000, 1]];
  const size = Math.abs(ms);
  const unit = units.find(([, length, least]) => size >= length * least);
  return unit ? many(Math.floor(size / unit[1]), unit[0]) : "less than a second";
}
export function ago(ms, now = Date.now()) {
  if (Math.abs(now - ms) < 1000) return "just now";
  return ms > now ? `in ${span(ms - now)}` : `${span(now - ms)} ago`;
}
export const since = (ms, now = Date.now()) => time(ms, ago(ms, now));
/// A text of `ago` with short units, for narrow elements.
export const brief = (text) => text.replace(/(second|minute|hour)s?/, (name) => (
  { s: "s", m: "min", h: "h" })[name[0]]);

/// The decimals of a currency that ISO 4217 names, as commands have them: browsers differ.
const digits = (currency) => (
  /^(BIF|CLP|DJF|GNF|ISK|JPY|KMF|KRW|PYG|RWF|UGX|VND|VUV|XAF|XOF|XPF)$/.test(currency) ? 0
    : /^(BHD|IQD|JOD|KWD|LYD|OMR|TND)$/.test(currency) ? 3 : 2);

export function money(milliunits, currency) {
  if (milliunits === null || milliunits === undefined) return null;
  const usual = digits(currency);
  let text = (milliunits / 1000).toFixed(3);
  for (let decimals = 3; decimals > usual && text.endsWith("0"); decimals -= 1) {
    text = text.slice(0, decimals === 1 ? -2 : -1);
  }
  return `${text} ${currency || ""}`.trim();
}
