// The last comparison of a new projection with the live one. One route: /v1/rebuild.

import { ask, subscriptionAddress } from "./api.js";
import { card, command, count, empty, h, heading, many, minute, note, raw, since,
  soft, sources, tag, time } from "./draw.js";
import { rowStatus, status } from "./names.js";

export async function rebuild(main, { isShown }) {
  const [found, rows] = await Promise.all([ask("/v1/rebuild"),
    ask("/v1/entitlements?limit=1").catch(() => null)]);
  if (!isShown()) return;
  // The rows are of the new fold already: what would happen has happened.
  const isApplied = found && otherFold(found) && rows?.fold_version === found.built_fold.version;
  main.replaceChildren(h("div", { class: "stack" }, heading("Rebuild"), found
    ? comparison(found, isApplied) : none(), sources("/v1/rebuild")));
}

const none = () => card("Comparison", null, empty("No comparison was made yet",
  "A release with other rules changes no row until you apply it. To see what it would change, run ",
  "beside the daemon:"), command("subledger rebuild --diff"),
soft("This folds the journal into a new projection and compares it with the live one. The result ",
  "is shown here."));

const otherFold = (found) => found.live_fold.fingerprint !== found.built_fold.fingerprint;

const subscriptions = (number) => many(number, "subscription");

function comparison(found, isApplied) {
  const [lose, gained] = isApplied ? ["lost", "gained"] : ["would lose", "would gain"];
  const differing = found.changed + found.added + found.gone;
  const tone = found.lose_access ? "red" : differing ? "amber" : "green";
  const gain = found.gain_access;
  const verdict = !differing ? "The new projection equals the live one for every subscription."
    : found.lose_access ? `${subscriptions(found.lose_access)} ${lose} access${
      gain ? `, ${count(gain)} ${gained} it` : ""}.`
      : gain ? `${subscriptions(gain)} ${gained} access, none ${lose} it.`
        : "Rows differ, but no subscription’s access changes.";
  const fold = (it) => `${it.version} (${it.fingerprint.slice(0, 12)})`;
  return [
    h("p", { class: "soft" }, "The last comparison was made ", since(found.made_at),
      ", with access as of ", time(found.at), " UTC", found.through_seq === null ? ""
        : `, through event ${count(found.through_seq)} of the journal`, "."),
    note(tone === "red" ? "red" : tone, verdict),
    h("dl", { class: "tiles" },
      tile("Equal", found.equal, "subscriptions"),
      tile("Changed", found.changed, `${count(found.changed_now)} now, ${
        count(found.changed_past)} in the past, ${count(found.changed_later)} later; ${
        count(found.added)} added, ${count(found.gone)} gone`, true),
      tile(isApplied ? "Lost access" : "Lose access", found.lose_access, "subscriptions", true),
      tile(isApplied ? "Gained access" : "Gain access", gain, "subscriptions", true)),
    h("div", { class: "split" },
      groups(isApplied ? "Lost access" : "Losing access", found.lost, "red"),
      groups(isApplied ? "Gained access" : "Gaining access", found.gained, "green")),
    found.samples.length ? samples(found.samples) : null,
    differing && !isApplied ? card("Next step", null, h("p", { class: "soft small" },
      "To make the new projection live:"), command("subledger rebuild --apply")) : null,
    h("p", { class: "soft small" }, "The live projection was made by fold ", fold(found.live_fold),
      ", the new one by fold ", fold(found.built_fold), "."), raw(found)];
}

const tile = (name, number, aside, isListed) => h("div", { class: "card tile" }, h("dt", {}, name),
  h("dd", {}, number && isListed ? h("a", { href: location.hash, onclick: showSamples },
    count(number)) : count(number)), h("dd", {}, aside));

function showSamples(event) {
  event.preventDefault();
  document.getElementById("h-samples")?.scrollIntoView();
}

function groups(title, list, tone) {
  const most = Math.max(1, ...list.map((group) => group.customers));
  return card(title, null, list.length ? h("ul", { class: "bars" },
    [...list].sort((a, b) => b.customers - a.customers).map((group) => {
      const bar = h("span", { class: tone });
      bar.style.width = `${100 * group.customers / most}%`;
      return h("li", {}, h("span", {}, statusChange(group.reason), h("span", { class: "soft" },
        ` · ${group.product_id || "no product"}`)), h("span", { class: "num" },
        count(group.customers)), h("span", { class: "track" }, bar));
    })) : soft("None."));
}

const statusChange = (reason) => reason.split(" → ").map((name) => (name === "none" ? "No row"
  : status(name)[0])).join(" → ");

const samples = (list) => card("Samples", h("span", { class: "soft small" }, "of those that differ"),
  h("ul", { class: "rows" }, list.map((item) => h("li", {},
    h("a", { class: "id", href: subscriptionAddress(item) }, item.original_transaction_id),
    tag(item.access === "lost" ? "red" : item.access === "gained" ? "green" : "gray",
      item.access === "same" ? "same access" : `access ${item.access}`),
    h("span", {}, side(item.before), " → ", side(item.after)),
    h("span", { class: "soft small end" }, item.change === "changed" ? [...item.fields,
      ...(item.past_fields ?? []).map((name) => `past ${name}`),
      ...(item.later_fields ?? []).map((name) => `later ${name}`)].join(", ") : item.change)))));

const side = (row) => (row ? [rowStatus(row)[0], row.expires_at
  ? [" until ", time(row.expires_at, (ms) => minute(ms).slice(0, 10))] : null] : "no row");
