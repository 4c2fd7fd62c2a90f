// The last comparison of a new projection with the live one. One route: /v1/rebuild.

import { ago, ask, card, count, day, exact, h, minute, status, tag } from "./draw.js";

export function rebuild(main, rest, isShown) {
  main.replaceChildren(h("p", { class: "soft" }, "Loading…"));
  ask("/v1/rebuild").then((found) => {
    if (isShown()) main.replaceChildren(...(found ? comparison(found) : none()));
  }, (error) => {
    if (isShown()) main.replaceChildren(h("p", { class: "note red", role: "alert" }, error
      .detail));
  });
  return {};
}

const none = () => [h("div", { class: "stack" }, h("h1", {}, "Rebuild"),
  h("section", { class: "card" }, h("h2", {}, "No comparison was made yet"),
    h("p", { class: "soft" },
      "A release with other rules changes no row until you apply it. To see what it would change, run beside the daemon:"
      ),
    h("pre", {}, "subledger rebuild --diff"),
    h("p", { class: "soft" },
      "This folds the journal into a new projection and compares it with the live one. The result is shown here."
      )))];

function comparison(found) {
  const differing = found.changed + found.added + found.gone;
  const tone = found.lose_access ? "red" : differing ? "amber" : "green";
  const verdict = !differing ?
    "The new projection equals the live one for every customer." :
    found.lose_access ?
    `${customers(found.lose_access)} would lose access${found.gain_access ? `, ${count(found.gain_access)} would gain it` : ""}.` :
    found.gain_access ?
    `${customers(found.gain_access)} would gain access, none would lose it.` :
    "Rows differ, but no customer’s access changes.";
  const fold = (it) => `${it.version} (${it.fingerprint.slice(0, 12)})`;
  return [h("div", { class: "stack" },
    h("div", {}, h("h1", {}, "The last comparison"),
      h("p", { class: "soft", title: exact(found.made_at) },
        `Made ${ago(found.made_at, Date.now())}, access as of ${minute(found.at)} UTC${found.through_seq === null ? "" : `, journal through ${count(found.through_seq)}`}`
        )),
    h("p", { class: `note ${tone}` }, verdict),
    h("dl", { class: "tiles" }, tile("Equal", found.equal, found.equal_but_registers ?
        `${count(found.equal_but_registers)} with other registers` : "rows"),
      tile("Changed", found.changed,
      `${count(found.added)} added, ${count(found.gone)} gone`),
      tile("Lose access", found.lose_access, "customers"), tile("Gain access", found
        .gain_access, "customers")),
    h("div", { class: "split" }, groups("Customers losing access", found.lost, "red"), groups(
      "Customers gaining access", found.gained, "green")),
    found.samples.length ? samples(found.samples) : null,
    h("p", { class: "soft small" },
      `The live projection was made by fold ${fold(found.live_fold)}, the new one by fold ${fold(found.built_fold)}.`,
      differing ? [" To make it live: ", h("code", {}, "subledger rebuild --apply"),
        "; to go back: ", h("code", {}, "--rollback"), "."
      ] : null))];
}

const customers = (number) => `${count(number)} customer${number === 1 ? "" : "s"}`;
const tile = (name, number, aside) => h("div", { class: "card tile" }, h("dt", {}, name), h(
"dd", {}, count(number)), h("dd", {}, aside));

function groups(title, list, tone) {
  const most = Math.max(1, ...list.map((group) => group.customers));
  return card(title, null, list.length ?
    h("ul", { class: "bars" }, [...list].sort((a, b) => b.customers - a.customers).map((
      group) => {
        const fill = h("span", { class: tone });
        fill.style.width = `${100 * group.customers / most}%`;
        return h("li", {}, h("span", {}, statusChange(group.reason), h("span", { class: "soft" },
            ` · ${group.product_id || "no product"}`)),
          h("span", { class: "num" }, count(group.customers)), h("span", { class: "track" },
            fill));
      })) : h("p", { class: "soft" }, "None."));
}

const statusChange = (reason) => reason.split(" → ").map((name) => (name === "none" ? "No row" : status(
  name)[0])).join(" → ");

const samples = (list) => card("Samples", null, h("ul", { class: "rows" }, list.map((item) =>
  h("li", {}, h("a", { class: "id",
        href: `#/customer/${encodeURIComponent(item.original_transaction_id)}/${item.environment}/${encodeURIComponent(item.bundle_id)}` },
      item.original_transaction_id),
    tag(item.access === "lost" ? "red" : item.access === "gained" ? "green" : "gray", item
      .access === "same" ? "same access" : `access ${item.access}`),
    h("span", {}, `${side(item.before)} → ${side(item.after)}`),
    h("span", { class: "soft small end" }, item.fields.join(", "))))));

const side = (row) => (row ?
  `${status(row.status)[0]}${row.expires_at ? ` until ${day(row.expires_at)}` : ""}` : "no row");
