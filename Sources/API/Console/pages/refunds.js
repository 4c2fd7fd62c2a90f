// Requests of customers for refunds: GET /v1/refund-requests. Open ones by their deadlines, with
// what would be done; then how they ended, and which. Answering is a command or the backend's.

import { address, ask, query, scope, scoped, subscriptionAddress } from "./api.js";
import { customerAddress } from "./customer.js";
import { ago, card, code, command, count, empty, h, heading, link, many, money, pager, pill,
  select, since, soft, sources, span, table, tag, time } from "./draw.js";
import { refundOutcomes, refundReason, refundStates, told, withheld } from "./names.js";

const page = "refunds";
const hour = 3600000;
const over = Object.keys(refundStates).filter((it) => it !== "waiting");

export async function refunds(main, { query: asked, isShown }) {
  const open = query("/v1/refund-requests", { ...scoped(), state: "waiting", include: "outlook",
    limit: 100 });
  const past = query("/v1/refund-requests", { ...scoped(), state: asked.state || over.join(","),
    order: "newest", after: asked.after, limit: 50 });
  const counting = query("/v1/overview", { ...scoped(), hours: 1 });
  const [waiting, ended, counts] = await Promise.all([ask(open), ask(past), ask(counting)]);
  if (!isShown()) return;
  main.replaceChildren(h("div", { class: "stack" },
    heading("Refunds", { page, query: asked, hasScope: true }),
    soft("Customers who want their money back, and of whom Apple asks what you know. Apple waits ",
      "twelve hours, and decides."),
    card(many(waiting.items.length, "open request"), waiting.next_page ? h("span",
      { class: "soft small" }, "Those with the nearest deadlines") : null,
    waiting.items.length ? waiting.items.map((it) => request(it, counts.at))
      : empty("Nothing is open", "A request is shown here from Apple’s CONSUMPTION_REQUEST until ",
        "it is decided what Apple is told, or for twelve hours.")),
    outcomes(counts.refund_requests),
    card("Decided or over", null, h("div", { class: "filters below" }, select("State",
      [["", "Every state"], ...over.map((it) => [it, refundStates[it][0]])], asked.state ?? "",
      (state) => { location.hash = address(page, [], { ...asked, after: "", state }); })),
    ended.items.length ? list(ended.items) : empty(asked.state || asked.after
      ? "No request matches" : "No request is over yet", asked.state || asked.after
      ? link(address(page), "Show all requests") : "What Apple decides is shown here."),
    pager(page, asked, ended.next_page)),
    sources(open, past, counting)));
}

const purchase = (it) => h("span", {}, h("a", { class: "id", href: subscriptionAddress(it) },
  it.transaction_id), h("span", { class: "soft small block" }, [it.product_id, it.price
  ? money(it.price.milliunits, it.price.currency) : null].filter(Boolean).join(" · ")),
it.environment === "Sandbox" && scope.environment === "both" ? tag("gray", "Sandbox") : null);
const short = (text) => (text.length > 12 ? `${text.slice(0, 12)}…` : text);
const customer = (it) => link(customerAddress(it), it.app_account_token
  ? `account token ${short(it.app_account_token)}` : it.app_transaction_id
    ? `app transaction ${short(it.app_transaction_id)}` : "the purchase’s");
const percent = (share) => `${share / 1000} %`;

// MARK: Open requests

function request(it, now) {
  const left = it.deadline - now;
  const tone = left < 3 * hour ? "red" : left < 6 * hour ? "amber" : "green";
  const { outlook } = it;
  return h("section", { class: "refund", "aria-label": `Request about ${it.transaction_id}` },
    h("div", { class: "head" }, h("h3", {}, pill(tone, `Deadline ${ago(it.deadline, now)}`), " ",
      time(it.deadline)), h("span", { class: "soft small" }, "asked ", since(it.requested_at, now))),
    table(["Purchase", "Customer", "Why", "What is known", "What would be done"], [[purchase(it),
      customer(it), refundReason(it.reason), h("span", {}, known(it, outlook).map((text) => h("span",
        { class: "block" }, text))), outlook ? done(outlook, it) : "–"]], "stacked"),
    outlook?.action === "send" || it.exclusion ? null : command(`subledger refunds answer ${
      it.transaction_id} --consented … --delivery … --sample … --prefer …`));
}

/// What the backend said, and what the ledger knows beside it.
const known = (it, outlook) => [
  { true: "consents that Apple is told", false: "does not consent that Apple is told" }[
    outlook?.customer_consented] ?? "nobody said whether the customer consents",
  outlook ? many(outlook.refunds_before, "earlier refund") : null,
  it.delivery_status ? told(it.delivery_status) : null,
  it.consumption_percentage === null ? null : `${percent(it.consumption_percentage)} used`,
  it.purchased_at ? `bought ${span(it.requested_at - it.purchased_at)} before` : null,
].filter(Boolean);

function done({ action, policy, preference, until, ...it }, { exclusion }) {
  if (exclusion) return withheld(exclusion);
  const by = policy ? ["by the policy ", code(policy)] : "as you said";
  return { send: h("span", {}, `Apple is told: ${told(preference)}, `, by),
    withhold: h("span", {}, withheld(it.withheld), policy ? [", ", by] : null),
    wait: h("span", {}, "waits for your word until ", time(until)),
    none: "nobody decides: say what you know" }[action];
}

// MARK: How they ended

/// How many were refunded of those that Apple took an answer of, by policy, and of the others.
function outcomes(counts) {
  const groups = new Map();
  for (const it of counts) {
    if (it.state === "waiting") continue;
    const name = it.state !== "answered" ? "" : it.policy ?? " ";
    const group = groups.get(name) ?? {};
    group[it.outcome ?? ""] = (group[it.outcome ?? ""] ?? 0) + it.count;
    groups.set(name, group);
  }
  if (!groups.size) return null;
  const all = [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
  const answered = all.filter(([name]) => name);
  const rows = [["Answered", answered.map(([, it]) => it)],
    ...answered.map(([name, it]) => [name === " " ? "– by you" : `– by ${name}`, [it]]),
    ["Not answered", all.filter(([name]) => !name).map(([, it]) => it)]];
  const sum = (list, name) => list.reduce((number, it) => number + (it[name] ?? 0), 0);
  return card("How they ended", h("span", { class: "soft small" }, "By whose answer Apple took"),
    table(["Answer", ...Object.values(refundOutcomes).map(([text]) => text), "Refunded of decided"],
      rows.map(([name, list]) => {
        const decided = sum(list, "refunded") + sum(list, "declined") + sum(list, "reversed");
        return [name, ...Object.keys(refundOutcomes).map((it) => sum(list, it)),
          decided ? h("span", { class: "num", "data-number": "" },
            `${count(Math.round(100 * sum(list, "refunded") / decided))} %`)
            : h("span", { class: "num", "data-number": "" }, "–")];
      }), "stacked"));
}

// MARK: What is over

const list = (items) => table(["Asked", "Purchase", "Customer", "Why", "Answer",
  "Apple’s decision"], items.map((it) => [time(it.requested_at), purchase(it), customer(it),
  refundReason(it.reason), answer(it), decision(it)]), "stacked");

function answer(it) {
  const [text, tone] = refundStates[it.state];
  const by = it.policy ? ["by the policy ", code(it.policy)] : it.sent_at || it.withheld
    ? "as you said" : null;
  const what = it.state === "declined_to_answer" ? withheld(it.withheld)
    : it.sent_at ? [told(it.sent_preference), it.sent_delivery_status, it.sent_consumption_percentage
      === null ? null : percent(it.sent_consumption_percentage), it.answer_code
      ? `Apple’s code ${it.answer_code}` : null].filter(Boolean).join(", ") : null;
  const isPolicy = it.policy || it.state === "answered";
  return h("span", {}, pill(tone, text), what ? h("span", { class: "soft small block" }, what, " ",
    isPolicy ? by : null) : null, " ", link(subscriptionAddress(it), "History"));
}

function decision(it) {
  if (!it.outcome) return "not told";
  const back = it.refunded === null ? null : money(it.refunded, it.price?.currency);
  const share = it.revocation_percentage === null ? null : percent(it.revocation_percentage);
  return h("span", {}, pill(refundOutcomes[it.outcome][1], refundOutcomes[it.outcome][0]),
    h("span", { class: "soft small block" }, [back, share].filter(Boolean).join(", ")),
    it.outcome_at ? time(it.outcome_at) : null);
}
