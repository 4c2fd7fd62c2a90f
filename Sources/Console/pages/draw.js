// What all pages share: requests to the daemon, elements, numbers, times, status names.

let token = "";
/// `refused` is called when the daemon does not accept the current token.
export const session = { refused: () => {} };
export const setToken = (text) => { token = text; };
export const hasToken = () => token !== "";

/// Reads a route: its JSON, or null for 404. Throws { status, code, detail } for any other failure;
/// status 0 if the daemon cannot be reached.
export async function ask(path) {
  const used = token;
  // A header can only hold printable ASCII.
  if (!/^[\x20-\x7e]*$/.test(used)) throw refuse(used);
  let answer;
  try {
    answer = await fetch(path, {
      headers: { Authorization: `Bearer ${used}` },
      cache: "no-store",
      credentials: "omit",
    });
  } catch {
    throw { status: 0, detail: "The daemon does not answer." };
  }
  if (answer.status === 401) throw refuse(used);
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok && answer.status !== 404) {
    throw { status: answer.status, code: body.code, detail: body.detail || "The daemon cannot answer now." };
  }
  return answer.ok ? body : null;
}

function refuse(used) {
  // A late 401 for a token that was replaced meanwhile says nothing about the new one.
  if (used === token) session.refused();
  return { status: 401, detail: "This token is not valid." };
}

// MARK: Elements. Text from outside becomes text nodes and never markup.

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined &&
    child !== false));
  return element;
}
export const h = (name, attributes, ...children) =>
  build(document.createElement(name), attributes, children);
export const s = (name, attributes, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
export const dot = (tone, shape = "") => h(
"span", { class: `dot ${tone} ${shape}`, "aria-hidden": "true" });
export const pill = (tone, text) => h("span", { class: `pill ${tone}` }, dot(tone), text);
export const fill = (parent, ...children) => { parent.replaceChildren(); return build(parent, {},
    children); };
export const tag = (tone, text) => h("span", { class: `tag ${tone}` }, text);
export const card = (title, aside, ...children) => {
  const id = `h-${title.toLowerCase().replace(/\W+/g, "-")}`;
  return h("section", { class: "card", "aria-labelledby": id },
    h("div", { class: "head" }, h("h2", { id }, title), aside), ...children);
};
export const table = (names, rows, kind = "") => h("div", { class: "scroll", tabindex: "0",
    role: "group", "aria-label": names.join(", ") },
  h("table", { class: kind },
    h("thead", {}, h("tr", {}, names.map((name, at) =>
      h("th", { scope: "col", class: typeof rows[0]?.[at] === "number" ? "num" : null },
        name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) =>
      h("td", { class: typeof cell === "number" ? "num" : null },
        typeof cell === "number" ? count(cell) : cell)))))));

// MARK: Numbers and times. All times are UTC, as in Apple’s notifications and in the journal.

export const count = (number) => number.toLocaleString("en-US");
const iso = (ms) => {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
};
export const day = (ms) => iso(ms).slice(0, 10);
export const minute = (ms) => iso(ms).replace("T", " ").slice(0, 16);
export const exact = (ms) => `${iso(ms).replace("T", " ").slice(0, 19)} UTC`;
const months = ["January", "February", "March", "April", "May", "June", "July", "August",
  "September", "October", "November", "December"
];
/// "31 January 2026, 10:00 UTC".
export const longTime = (ms) => {
  const date = new Date(ms);
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}, ${iso(ms).slice(11, 16)} UTC`;
};

/// A text of `ago` or `span` with short units, for narrow elements.
const short = { second: "s", minute: "min", hour: "h" };
export const brief = (text) => text.replace(/(second|minute|hour)s?/, (name) => short[name
  .replace(/s$/, "")]);

/// Milliseconds in words, as "3 days". Months and years are used from two on: 45 days, not 1 month.
export function span(ms) {
  const units = [
    ["year", 31557600000, 2],
    ["month", 2629800000, 2],
    ["day", 86400000, 1],
    ["hour", 3600000, 1],
    ["minute", 60000, 1],
    ["second", 1000, 1]
  ];
  const size = Math.abs(ms);
  const unit = units.find(([, length, least]) => size >= length * least);
  if (!unit) return "less than a second";
  const number = Math.floor(size / unit[1]);
  return `${number} ${unit[0]}${number === 1 ? "" : "s"}`;
}
export function ago(ms, now) {
  if (Math.abs(now - ms) < 1000) return "just now";
  return ms > now ? `in ${span(ms - now)}` : `${span(now - ms)} ago`;
}

export function money(milliunits, currency) {
  if (milliunits === null || milliunits === undefined) return null;
  const amount = milliunits / 1000;
  return `${amount.toFixed(milliunits % 10 ? 3 : 2)} ${currency || ""}`.trim();
}

// MARK: Names and colours

export const statuses = {
  active: ["Active", "green"],
  grace_period: ["Grace period", "amber"],
  billing_retry: ["Billing retry", "orange"],
  expired: ["Expired", "gray"],
  revoked: ["Revoked", "red"],
};
export const status = (name) => statuses[name] || [name, "gray"];

/// Groups of notification types with one colour each; the first pattern that matches decides.
export const kinds = [
  ["New", "blue",
    /^(SUBSCRIBED|INITIAL_BUY|ONE_TIME_CHARGE|OFFER_REDEEMED|INTERACTIVE_RENEWAL)$/
  ],
  ["Renewed", "green", /^(DID_RENEW|DID_RECOVER|RENEWAL|RENEWAL_EXTENDED|RENEWAL_EXTENSION)$/],
  ["Changed", "violet", /^(DID_CHANGE_|PRICE_)/],
  ["Billing problem", "amber", /^(DID_FAIL_TO_RENEW|GRACE_PERIOD_EXPIRED)$/],
  ["Ended, refunded", "red", /^(EXPIRED|REFUND|REVOKE|CANCEL|CONSUMPTION_REQUEST|REFUND_)/],
  ["Other", "gray", /./],
];
export const kind = (type) => kinds.find(([, , pattern]) => pattern.test(type || "-"));

/// How a customer who did not pay got the product. Other values of Apple get no sentence.
export const ownership = (name) => new Map([
  ["FAMILY_SHARED", "Shared by a family member."],
  ["ASSIGNED", "A seat that was assigned to this customer."],
]).get(name) ?? null;

const offers = ["an introductory offer", "a promotional offer", "an offer code", "a win-back offer",
  "a retention offer"
];
/// An offer by Apple's offerType.
export const offer = (type) => offers[type - 1] ?? "an offer";
