// What all pages draw with: elements, figures, times, and the one way to ask the daemon.

let token = "";
export const door = { refused: () => {} };
export const setToken = (text) => { token = text; };
export const hasToken = () => token !== "";

/// Asks a route. Throws { status, code, detail } for what is no answer.
export async function ask(path) {
  const mine = token;
  // A token that cannot be in a header is none.
  if (!/^[\x20-\x7e]*$/.test(mine)) throw refuse(mine);
  let answer;
  try {
    answer = await fetch(path, {
      headers: { Authorization: `Bearer ${mine}` },
      cache: "no-store",
      credentials: "omit",
    });
  } catch {
    throw { status: 0, detail: "The daemon does not answer." };
  }
  if (answer.status === 401) throw refuse(mine);
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok && answer.status !== 404) {
    throw { status: answer.status, code: body.code, detail: body.detail || "Not now." };
  }
  return answer.ok ? body : null;
}

function refuse(asked) {
  // Of a token that was given up for another one meanwhile it says nothing.
  if (asked === token) door.refused();
  return { status: 401, detail: "This token is not known here." };
}

// MARK: Elements. Text from outside becomes text nodes, never markup.

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

// MARK: Figures and times. All times are UTC: that is what Apple and the journal speak.

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
export const spoken = (ms) => {
  const date = new Date(ms);
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}, ${iso(ms).slice(11, 16)} UTC`;
};

/// The same, short: for where there is little room.
const short = { second: "s", minute: "min", hour: "h" };
export const brief = (text) => text.replace(/(second|minute|hour)s?/, (name) => short[name
  .replace(/s$/, "")]);

/// "3 days", of milliseconds. Two of something say more than one of the next: 45 days, not a month.
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
  if (!unit) return "a moment";
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

// MARK: Words and tones

export const statuses = {
  active: ["Active", "green"],
  grace_period: ["Grace period", "amber"],
  billing_retry: ["Billing retry", "orange"],
  expired: ["Expired", "gray"],
  revoked: ["Revoked", "red"],
};
export const status = (name) => statuses[name] || [name, "gray"];

/// What kinds of notification there are, to the eye.
export const kinds = [
  ["New", "blue",
    /^(SUBSCRIBED|INITIAL_BUY|ONE_TIME_CHARGE|OFFER_REDEEMED|INTERACTIVE_RENEWAL)$/
  ],
  ["Renewed", "green", /^(DID_RENEW|DID_RECOVER|RENEWAL|RENEWAL_EXTENDED|RENEWAL_EXTENSION)$/],
  ["Changed", "violet", /^(DID_CHANGE_|PRICE_)/],
  ["Billing trouble", "amber", /^(DID_FAIL_TO_RENEW|GRACE_PERIOD_EXPIRED)$/],
  ["Ended, refunded", "red", /^(EXPIRED|REFUND|REVOKE|CANCEL|CONSUMPTION_REQUEST|REFUND_)/],
  ["Other", "gray", /./],
];
export const kind = (type) => kinds.find(([, , form]) => form.test(type || "-"));
