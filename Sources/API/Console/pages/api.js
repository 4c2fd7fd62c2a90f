// Requests to the daemon, the addresses of the console's pages, and which app and environment are
// shown. The token is held in the tab's session storage: a reload keeps it, other tabs and the
// address never have it, and it is removed at sign-out and when the daemon refuses it.

const key = "subledger-token";
let token = sessionStorage.getItem(key) ?? "";
/// `refused` is called when the daemon does not accept the current token.
export const session = { refused: () => {}, may: [] };
export const hasToken = () => token !== "";
export function setToken(text) {
  token = text;
  if (text) sessionStorage.setItem(key, text);
  else sessionStorage.removeItem(key);
}

/// Reads a route: its JSON, or null for 404. Throws { status, code, detail } for any other failure;
/// status 0 if the daemon cannot be reached.
export async function ask(path) {
  const { status, body } = await request(path, {});
  return status === 404 ? null : body;
}

/// Changes something; throws as `ask`, for 404 too. A key makes a repeated request one statement.
/// The token is sent by this page alone and by no browser of itself, so no other site can do it.
export const send = (method, path, key, content) => need(path, { method,
  body: content && JSON.stringify(content),
  headers: { "Idempotency-Key": key, ...(content && { "Content-Type": "application/json" }) } });

/// Reads a route for which a 404 is a failure too.
export async function need(path, options = {}) {
  const { status, body } = await request(path, options);
  if (status === 404) throw { status, code: body.code, detail: body.detail };
  return body;
}

/// A key that no other request has.
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))]
  .map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function request(path, options) {
  const used = token;
  // A header can only hold printable ASCII.
  if (!/^[\x20-\x7e]*$/.test(used)) throw refuse(used);
  let answer;
  try {
    answer = await fetch(path, {
      ...options, headers: { ...options.headers, Authorization: `Bearer ${used}` },
      cache: "no-store", credentials: "omit",
    });
  } catch {
    throw { status: 0, detail: "The daemon does not answer." };
  }
  if (answer.status === 401) throw refuse(used);
  const body = await answer.json().catch(() => ({}));
  if (answer.ok || answer.status === 404) return { status: answer.status, body };
  throw {
    status: answer.status, code: body.code, detail: body.detail || "The daemon cannot answer now.",
  };
}

/// Does something for each item, four at a time: long reads of one token share a thread.
export async function each(items, work) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return results;
}

/// A list with the items of all its pages; null if there is none. The path must have a query.
export async function askAll(path) {
  const list = await ask(path);
  let next = list?.next_page;
  while (next) {
    const page = await ask(`${path}&after=${encodeURIComponent(next)}`);
    list.items.push(...page.items);
    next = page.next_page;
  }
  return list;
}

function refuse(used) {
  // A late 401 for a token that was replaced meanwhile says nothing about the new one.
  if (used === token) session.refused();
  return { status: 401, detail: "This token is not valid." };
}

/// A path with the parameters that have a value.
export function query(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value || value === 0);
  // The daemon takes a plus sign as one, as RFC 3986 does.
  const text = new URLSearchParams(given).toString().replaceAll("+", "%20");
  return text ? `${path}?${text}` : path;
}

/// The command that asks for the same. It names the token's variable, never the token.
export const curlCommand = (path) =>
  `curl -s -H "Authorization: Bearer $TOKEN" '${location.origin}${path.replaceAll("'", "%27")}'`;

// MARK: Scope

/// What is shown: an environment or both, one app or all; `apps` are those that the token may see.
export const scope = { environment: "Production", app: "", apps: [] };
/// Whether the token may do something, as the configuration calls it.
export const may = (right) => session.may.includes(right);
const known = (name) => scope.apps.some((app) => app.environment === name);

/// Production first; where the token or the configuration has Sandbox alone, Sandbox.
const usual = () => (scope.apps.length && !known("Production") ? "Sandbox" : "Production");

export function setScope(given) {
  const environment = given.get("environment");
  scope.environment = ["Production", "Sandbox", "both"].includes(environment) ? environment
    : usual();
  scope.app = given.get("app") ?? "";
}

/// The scope as parameters of a route.
export const scoped = () => ({
  environment: scope.environment === "both" ? "" : scope.environment, bundle_id: scope.app,
});

/// The address of a page, with the current scope unless other values are given.
export function address(page, rest = [], parameters = {}) {
  const all = { environment: scope.environment, app: scope.app, ...parameters };
  if (all.environment === usual()) delete all.environment;
  return query(`#/${[page, ...rest.map(encodeURIComponent)].join("/")}`, all);
}

/// The address of one subscription: of its row, or of anything else that has its key.
export const subscriptionAddress = (row, parameters = {}) => address("subscription",
  [row.original_transaction_id, row.environment, row.bundle_id], parameters);
