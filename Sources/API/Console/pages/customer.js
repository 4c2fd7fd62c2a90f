// A customer: found by any id, with entitlements by name (GET /v1/customers) and all purchases.

import { address, ask, query, scope, subscriptionAddress } from "./api.js";
import { card, code, command, empty, h, heading, id as shownId, link, money, note, pill, raw, soft,
  sources, tag, time } from "./draw.js";
import { bases, rowStatus } from "./names.js";
import { rows as list } from "./subscriptions.js";

const environments = ["Production", "Sandbox"];

// MARK: Finding

export async function find(main, { rest: [id], isShown }) {
  document.getElementById("q").value = id ?? "";
  main.replaceChildren(h("p", { class: "soft", role: "status" }, "Searching…"));
  const [rows, customers] = await Promise.all([search(id ?? ""), accounts(id ?? "")]);
  if (!isShown()) return;
  const only = rows.length + customers.length === 1;
  if (only) {
    return location.replace(rows.length ? subscriptionAddress(rows[0]) : customers[0].href);
  }
  main.replaceChildren(h("div", { class: "stack" }, heading("Find"), rows.length || customers.length
    ? [customers.map((it) => h("p", {}, "A customer: ", link(it.href, it.title))),
      rows.length ? card(`${rows.length} purchases have this id`, null, list(rows)) : null]
    : nothing(id)));
}

const nothing = (id) => card(id ? `Nothing is known under “${id}”` : "Enter an id", null,
  h("ul", { class: "plain" },
    h("li", {}, "Transaction ids, notification UUIDs, app account tokens, app transaction ids and ",
      "your own account names are found. A token that is limited to some apps or environments ",
      "only finds those."),
    h("li", {}, "The order id of a customer’s mail, and what no notification told of, is known to ",
      "Apple alone. To ask Apple:",
      command(`subledger lookup ${/^[0-9A-Za-z]{1,64}$/.test(id) ? id.toUpperCase() : "ID"}`))));

/// Every row with this id, whatever the id is. Where there is only a history (everything is in
/// quarantine), its key stands for the row.
async function search(id) {
  if (!id) return [];
  const found = new Map();
  const add = (row) => found.set(subscriptionAddress(row), row);
  (await ask(query("/v1/search", { id }))).items.forEach(add);
  const name = isUUID(id) ? "app_account_token" : "app_transaction_id";
  (await ask(query("/v1/entitlements", { [name]: id }))).items.forEach(add);
  return found.size < 2 ? [...found.values()] : Promise.all([...found.values()].map(whole));
}

/// The row of a key: a customer's rows are asked for by a route that has no 404.
async function whole(key) {
  if (key.object === "entitlement") return key;
  const { original_transaction_id: id, environment, bundle_id } = key;
  const it = await ask(query(`/v1/customers/${encodeURIComponent(id)}`,
    { by: "original_transaction_id", environment, bundle_id })).catch(() => null);
  return [...it?.subscriptions ?? [], ...it?.purchases ?? []].find((row) =>
    row.original_transaction_id === id) ?? key;
}

const isUUID = (id) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);

/// The customers who have more than one row, or none, under an id of yours.
async function accounts(id) {
  const kinds = isUUID(id) ? ["app_account_token", "account"] : ["account"];
  const found = [];
  for (const by of id.length && id.length <= 128 ? kinds : []) {
    for (const environment of environments) {
      const path = query(`/v1/customers/${encodeURIComponent(id)}`, { by, environment });
      const it = await ask(path).catch(() => null);
      if (!it?.known || (by !== "account" && it.subscriptions.length + it.purchases.length < 2)) {
        continue;
      }
      found.push({ href: address("customer", [by, id], { environment }),
        title: `${id}, ${names[by]}, ${environment}` });
    }
  }
  return found;
}

// MARK: One customer

const names = { app_account_token: "app account token", app_transaction_id: "app transaction id",
  account: "your account", original_transaction_id: "original transaction id" };

export async function customer(main, { rest: [by, id], isShown }) {
  const path = query(`/v1/customers/${encodeURIComponent(id)}`, { by,
    environment: scope.environment === "both" ? "Production" : scope.environment });
  const found = await ask(path);
  if (!isShown()) return;
  main.replaceChildren(h("div", { class: "stack" },
    heading("Customer", { aside: tag(found.environment === "Production" ? "blue" : "gray",
      found.environment) }),
    soft(`By ${names[by] ?? by}: `, shownId(id)),
    found.known ? null : note("amber", "Nothing is known under this id. That says nothing about ",
      "access: Apple may not have told of the customer yet."),
    entitlements(found),
    found.subscriptions.length ? card("Subscriptions", null, list(found.subscriptions)) : null,
    found.purchases.length ? card("Purchases", null, list(found.purchases), found.more_purchases
      ? soft("There are more, of consumables, than are listed.") : null) : null,
    raw(found), sources(path)));
}

/// What a customer may use by name.
export function entitlements(found, title = "Entitlements") {
  const all = Object.entries(found.entitlements);
  return card(title, null, all.length ? h("ul", { class: "rows", id: "entitlements" },
    all.map(([name, it]) => h("li", {}, h("b", {}, name),
      it.active ? pill("green", "Active") : pill("gray", "Not active"),
      h("span", { class: "soft" }, it.active ? until(it, found) : why(it, found)),
      it.original_transaction_id ? h("span", { class: "small end" }, it.active ? "by " : "",
        h("a", {
        href: subscriptionAddress({ ...it, environment: found.environment,
          bundle_id: bundle(found, it) }) }, it.product_id ?? it.original_transaction_id))
        : null))) : empty("The configuration names no entitlement",
    "Say in ", code("entitlements"), " which products give what, and it is answered here by name: ",
    code("subledger help configuration"), "."));
}

/// The app of the row that gives an entitlement.
const bundle = (found, it) => [...found.subscriptions, ...found.purchases].find((row) =>
  row.original_transaction_id === it.original_transaction_id)?.bundle_id ?? "";

/// Why an entitlement is not active.
function why(it, found) {
  const other = found.environment === "Production" ? "Sandbox" : "Production";
  return {
    never_bought: "nothing that gives it was bought", unknown: "nothing is known",
    ended: ["ended ", time(it.ended_at)], refunded: ["refunded ", time(it.ended_at)],
    billing_retry: ["Apple cannot charge the customer; paid until ", time(it.ended_at)],
    unmapped: `${it.product_id} gives none of these`, other_app: "known in another app alone",
    other_environment: ["known in ", link(address("customer", [found.by, found.id],
      { environment: other }), other), " alone"],
  }[it.reason] ?? it.reason ?? "";
}

/// Why an entitlement is active; of a free trial, what comes after it.
function basisOf(it, found) {
  if (!it.trial) return bases[it.basis] ?? it.basis;
  const price = found.subscriptions.find((row) =>
    row.original_transaction_id === it.original_transaction_id)?.renewal_price;
  const then = it.will_renew && price ? money(price.milliunits, price.currency) : null;
  return then ? `free trial, then ${then}` : "free trial";
}

function until(it, found) {
  const basis = basisOf(it, found);
  // A grace period ends at a time of its own: Apple tries to charge before, and not at it.
  const end = it.expires_at ? [it.will_renew && it.basis !== "grace" ? " renews " : " until ",
    time(it.expires_at)]
    : ", without end";
  const next = it.next && it.next.at !== it.expires_at ? [it.next.active ? "; active from "
    : "; by time alone not active from ", time(it.next.at)] : null;
  return [basis, it.expires_at ? "," : "", end, next];
}

/// Other purchases of the customer who has a row.
export function others(found, row) {
  const rest = [...found.subscriptions, ...found.purchases].filter((it) =>
    it.original_transaction_id !== row.original_transaction_id);
  if (!rest.length) return null;
  return card("Other purchases of this customer", link(address("customer", [found.by, found.id],
    { environment: found.environment }), "Customer"), list(rest));
}

/// By which id the customer of a row is asked about: the most specific one that names him.
export function customerPath(row) {
  const [by, id] = row.accounts?.length ? ["account", row.accounts[0]]
    : row.app_account_token ? ["app_account_token", row.app_account_token]
      : ["original_transaction_id", row.original_transaction_id];
  return query(`/v1/customers/${encodeURIComponent(id)}`, { by, environment: row.environment,
    bundle_id: row.bundle_id });
}

export const statusPill = (row) => pill(rowStatus(row)[1], rowStatus(row)[0]);
