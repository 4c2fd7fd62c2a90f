// What you said of a customer: claims and grants, with a form to grant and to end a grant. It needs
// a token that may grant; every statement is confirmed, and journaled with its reason.

import { askAll, may, newKey, query, scope, send, subscriptionAddress } from "./api.js";
import { card, exact, fill, h, link, note, pill, select, soft, table, tag, time } from "./draw.js";
import { bases } from "./names.js";

/// Kinds of ids that the ledger keeps grants under.
const kinds = ["account", "app_account_token", "app_transaction_id"];
const path = (found, rest = "", more = {}) => query(
  `/v1/customers/${encodeURIComponent(found.id)}/grants${rest}`,
  { by: found.by, environment: found.environment, ...more });

/// The grants of a customer; null if this id cannot have any.
export async function askGrants(found) {
  if (!kinds.includes(found.by)) return null;
  return (await askAll(path(found)))?.items ?? [];
}

/// When grants change what a customer has.
export const grantTimes = (said) => (said ?? []).flatMap((it) =>
  [it.granted_at, it.until, it.revoked_at]).filter((at) => at !== null);

/// - again: draws the page anew, after something was said.
export function grants({ found, said, items, now }, again) {
  const claims = items.filter((it) => it.source === "account");
  const names = Object.keys(found.entitlements);
  const holder = h("div", { class: "said" });
  const isAllowed = said && may("grant") && names.length > 0;
  if (!may("grant") && !claims.length && !said?.length) return null;
  const list = [...said ?? []].reverse();
  return card("Said by you", h("span", { class: "soft small" }, "grants and claims, journaled"),
    list.length ? table(["Grant", "Granted", "Until", "By", "Reason", ""], list.map((it) => [
      h("span", {}, h("b", {}, it.entitlement), " ", state(it, now)), time(it.granted_at),
      it.until === null ? "no end" : time(it.until), it.granted_by, it.reason ?? "–",
      it.revoked_at ? ended(it) : isAllowed && isInForce(it, now)
        ? h("button", { type: "button", onclick: () => end(holder, found, it, again) }, "End…")
        : null]), "stacked long") : null,
    claims.map((it) => h("p", { class: "soft" }, time(it.signed_date), ": ", it.words,
      it.payload?.token ? `, said by ${it.payload.token}, ` : ", ",
      link(subscriptionAddress(it.row), it.of))),
    isAllowed ? [holder, h("p", {}, h("button", { type: "button", id: "grant",
      onclick: () => begin(holder, found, names, again) }, "Grant…"))] : null,
    said === null && may("grant") ? soft("A grant is to an account of yours, an app account token ",
      "or an app transaction id; this id is none of them.") : null,
    may("grant") && !names.length ? soft("The configuration names no entitlement to grant.") : null);
}

const isInForce = (it, now) => it.revoked_at === null && (it.until === null || it.until > now);
const state = (it, now) => (isInForce(it, now) ? pill("violet", "In force") : tag("gray", "ended"));
const ended = (it) => ["ended ", time(it.revoked_at), ` by ${it.revoked_by}`,
  it.revocation_reason ? `: ${it.revocation_reason}` : ""];

// MARK: Forms

const day = 86400000;
const lengths = [["7", "for 7 days"], ["30", "for 30 days"], ["90", "for 90 days"],
  ["365", "for 365 days"], ["", "without end"]];

/// What the customer had and has no longer is offered first.
const lost = (found, names) => names.find((it) => !found.entitlements[it].active &&
  found.entitlements[it].reason !== "never_bought") ?? names[0];

function begin(holder, found, names, again, before = null) {
  const chosen = before?.chosen ?? { entitlement: lost(found, names), days: "30",
    app: apps(found)[0] ?? "" };
  const reason = reasonField(before?.reason);
  const choose = (name) => (value) => { chosen[name] = value; };
  const review = () => confirm(holder, {
    text: [h("b", {}, chosen.entitlement), chosen.days ? [" until ", exact(until(chosen)), ","]
      : " without end,", ` to ${found.id} in ${found.environment}`, chosen.app
      ? `, ${chosen.app}` : "", has(found.entitlements[chosen.entitlement])],
    reason: reason.value(), name: "Grant it", again,
    back: () => begin(holder, found, names, again, { chosen, reason: reason.value() }),
    say: (key) => send("POST", path(found, "", { bundle_id: chosen.app }), key,
      { entitlement: chosen.entitlement, until: chosen.days ? until(chosen) : null,
        reason: reason.value() }),
  });
  form(holder, "New grant", [
    select("Entitlement", names.map((it) => [it, it]), chosen.entitlement, choose("entitlement")),
    select("Length", lengths, chosen.days, choose("days")),
    apps(found).length > 1 ? select("App of the grant", apps(found).map((it) => [it, it]),
      chosen.app, choose("app")) : null], reason, review);
}

/// What a grant comes on top of.
const has = (it) => (it?.active ? [". The customer has it already (", bases[it.basis] ?? it.basis,
  it.expires_at ? [", until ", exact(it.expires_at)] : ", without end", ")"] : "");

/// Rounded up to a minute.
const until = (chosen) => Math.ceil((Date.now() + Number(chosen.days) * day) / 60000) * 60000;
const apps = (found) => [...new Set(scope.apps.filter((it) => it.environment === found.environment)
  .map((it) => it.bundle_id))].sort();

function end(holder, found, grant, again, before = "") {
  const reason = reasonField(before);
  form(holder, `End the grant of ${grant.entitlement} of ${exact(grant.granted_at)}`, [], reason, () => confirm(holder, {
    text: ["The end of ", h("b", {}, grant.entitlement), `, granted to ${found.id} on `,
      exact(grant.granted_at), grant.reason ? ` (${grant.reason})` : ""],
    reason: reason.value(), name: "End it", again,
    back: () => end(holder, found, grant, again, reason.value()),
    say: (key) => send("DELETE", path(found, `/${grant.id}`,
      { bundle_id: grant.bundle_id, reason: reason.value() }), key),
  }));
}

function reasonField(value = "") {
  const field = h("input", { type: "text", id: "reason", maxlength: 500, required: true,
    pattern: ".*\\S.*", title: "A reason in words", autocomplete: "off", value });
  return { field, value: () => field.value.trim() };
}

function form(holder, title, fields, reason, review) {
  const submit = (event) => {
    event.preventDefault();
    if (reason.value()) review();
    else reason.field.focus();
  };
  fill(holder, h("form", { onsubmit: submit, "aria-label": title }, h("h3", {}, title),
    h("div", { class: "filters" }, fields),
    h("label", { for: "reason" }, "Reason, for people; it stays in the journal for ever",
      reason.field),
    h("p", { class: "line" }, h("button", { type: "submit", class: "main" }, "Review…"), " ",
      h("button", { type: "button", onclick: () => fill(holder) }, "Cancel"))));
  (fields.length ? holder.querySelector("select") : reason.field).focus();
}

/// Nothing is said before this is confirmed; a second click repeats the same statement.
function confirm(holder, { text, reason, name, say, back, again }) {
  const key = newKey();
  const failure = h("div", {});
  const button = h("button", { type: "button", class: "main", id: "confirm", onclick: async () => {
    button.disabled = true;
    try {
      await say(key);
      again();
    } catch (error) {
      button.disabled = false;
      fill(failure, note("red", error.status === 403 ? "This token may not grant that."
        : error.detail));
    }
  } }, name);
  fill(holder, h("h3", {}, "Is this right?"), h("p", {}, text), soft(`Because: ${reason}`), failure,
    h("p", { class: "line" }, button, " ", h("button", { type: "button", onclick: back }, "Back")));
  button.focus();
}
