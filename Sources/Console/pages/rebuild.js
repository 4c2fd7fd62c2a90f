// Rebuild: what the last comparison of new rows with the live ones found.

import { ago, ask, card, count, day, exact, h, minute, status, tag } from "./draw.js";

export function rebuild(main, rest, isShown) {
  main.replaceChildren(h("p", { class: "soft" }, "Looking…"));
  ask("/v1/rebuild").then((found) => {
    if (isShown()) main.replaceChildren(...(found ? shown(found) : none()));
  }, (error) => {
    if (isShown()) main.replaceChildren(h("p", { class: "note red", role: "alert" }, error
      .detail));
  });
  return {};
}

const none = () => [h("div", { class: "stack" }, h("h1", {}, "Rebuild"),
  h("section", { class: "card" }, h("h2", {}, "No comparison was made yet"),
    h("p", { class: "soft" },
      "A release with other rules changes nobody’s row until you say so. Beside the running daemon,"
      ),
    h("pre", {}, "subledger rebuild --diff"),
    h("p", { class: "soft" },
      "folds the journal into new rows, holds them against the live ones, and what it finds is shown here."
      )))];

function shown(found) {
  const differing = found.changed + found.added + found.gone;
  const tone = found.lose_access ? "red" : differing ? "amber" : "green";
  const verdict = !differing ?
    "The rebuilt rows say the same as the live ones about every customer." :
    found.lose_access ?
    `${customers(found.lose_access)} would lose access${found.gain_access ? `, ${count(found.gain_access)} would gain it` : ""}.` :
    found.gain_access ?
    `${customers(found.gain_access)} would gain access, nobody would lose it.` :
    "Rows differ, and nobody’s access does.";
  const fold = (it) => `${it.version} (${it.fingerprint.slice(0, 12)})`;
  return [h("div", { class: "stack" },
    h("div", {}, h("h1", {}, "The last comparison"),
      h("p", { class: "soft", title: exact(found.made_at) },
        `Made ${ago(found.made_at, Date.now())}, access as of ${minute(found.at)} UTC, journal through ${count(found.through_seq)}`
        )),
    h("p", { class: `note ${tone}` }, verdict),
    h("dl", { class: "tiles" }, tile("Equal", found.equal, found.equal_but_registers ?
        `${count(found.equal_but_registers)} kept otherwise` : "rows"),
      tile("Changed", found.changed,
      `${count(found.added)} added, ${count(found.gone)} gone`),
      tile("Lose access", found.lose_access, "customers"), tile("Gain access", found
        .gain_access, "customers")),
    h("div", { class: "split" }, groups("Who loses access", found.lost, "red"), groups(
      "Who gains access", found.gained, "green")),
    found.samples.length ? samples(found.samples) : null,
    h("p", { class: "soft small" },
      `Live rows are of fold ${fold(found.live_fold)}, the built ones of fold ${fold(found.built_fold)}.`,
      differing ? [" To make them live: ", h("code", {}, "subledger rebuild --apply"),
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
        return h("li", {}, h("span", {}, words(group.reason), h("span", { class: "soft" },
            ` · ${group.product_id || "no product"}`)),
          h("span", { class: "num" }, count(group.customers)), h("span", { class: "track" },
            fill));
      })) : h("p", { class: "soft" }, "Nobody."));
}

const words = (reason) => reason.split(" → ").map((name) => (name === "none" ? "No row" : status(
  name)[0])).join(" → ");

const samples = (list) => card("Some of them", null, h("ul", { class: "rows" }, list.map((item) =>
  h("li", {}, h("a", { class: "id",
        href: `#/customer/${encodeURIComponent(item.original_transaction_id)}/${item.environment}/${encodeURIComponent(item.bundle_id)}` },
      item.original_transaction_id),
    tag(item.access === "lost" ? "red" : item.access === "gained" ? "green" : "gray", item
      .access === "same" ? "same access" : `access ${item.access}`),
    h("span", {}, `${side(item.before)} → ${side(item.after)}`),
    h("span", { class: "soft small end" }, item.fields.join(", "))))));

const side = (row) => (row ?
  `${status(row.status)[0]}${row.expires_at ? ` until ${day(row.expires_at)}` : ""}` : "no row");
