// Names and colours of what Apple and the daemon call by a code.

export const statuses = {
  active: ["Active", "green"],
  grace_period: ["Grace period", "amber"],
  billing_retry: ["Billing retry", "orange"],
  expired: ["Expired", "gray"],
  revoked: ["Refunded or revoked", "red"],
};
export const status = (name) => statuses[name] ?? [name, "gray"];
/// In the place of a status.
export const withAccess = "access";

/// The status of a row: what a buyer had revoked was refunded, what others used was not theirs.
export function rowStatus(row) {
  if (row.status === "active" && isConsumable(row)) return ["Bought", "gray"];
  if (row.status !== "revoked") return status(row.status);
  return [["FAMILY_SHARED", "ASSIGNED"].includes(row.ownership) ? "Revoked" : "Refunded", "red"];
}

/// Whether it is used up, and gives no access. Version 1 does not say so.
export const isConsumable = (row) => row.product_type === "Consumable"
  || (row.status === "active" && !row.gives_access);

/// Groups of notification types with one colour each; the first pattern that matches decides.
export const kinds = [
  ["New", "blue",
    /^(SUBSCRIBED|INITIAL_BUY|ONE_TIME_CHARGE|OFFER_REDEEMED|INTERACTIVE_RENEWAL)$/],
  ["Renewed", "green", /^(DID_RENEW|DID_RECOVER|RENEWAL|RENEWAL_EXTENDED|RENEWAL_EXTENSION)$/],
  ["Changed", "violet", /^(DID_CHANGE_|PRICE_)/],
  ["Billing problem", "amber", /^(DID_FAIL_TO_RENEW|GRACE_PERIOD_EXPIRED)$/],
  ["Refunded or revoked", "red", /^(REFUND|REVOKE|CANCEL|RESCIND_CONSENT)$/],
  ["Expired", "slate", /^EXPIRED$/],
  ["Other", "gray", /./],
];
export const kind = (type) => kinds.find(([, , pattern]) => pattern.test(type || "-"));

/// Types that are listed in the filter: those of Apple's notifications.
export const types = ["SUBSCRIBED", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF",
  "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "REFUND",
  "REFUND_DECLINED", "REFUND_REVERSED", "REVOKE", "CONSUMPTION_REQUEST", "OFFER_REDEEMED",
  "ONE_TIME_CHARGE", "PRICE_INCREASE", "PRICE_CHANGE", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION",
  "EXTERNAL_PURCHASE_TOKEN", "METADATA_UPDATE", "MIGRATION", "RESCIND_CONSENT", "TEST"];

/// Where events come from.
export const sourceGroups = [
  ["v2,v1", "Notifications"],
  ["transaction,renewal,receipt", "Evidence"],
  ["account,grant,catalog,refund", "Said by you"],
];
export const sourceName = (source) => ({ v1: "version 1", transaction: "evidence",
  renewal: "evidence", receipt: "evidence", ...owners })[source] ?? null;
/// What you said yourself.
const owners = { account: "claim", grant: "grant", catalog: "mapping", refund: "refund request" };
export const isOwners = (event) => event.source in owners;

/// How an event arrived, unless Apple posted it.
export const arrivals = {
  history: "from Apple’s history", import: "imported", asked: "asked of Apple",
  submitted: "from the app",
};

/// How a customer who did not pay got the product. Other values of Apple get no sentence.
export const ownership = (name) => new Map([
  ["FAMILY_SHARED", "Shared by a family member."],
  ["ASSIGNED", "A seat that was assigned to this customer."],
]).get(name) ?? null;

const offers = ["an introductory offer", "a promotional offer", "an offer code",
  "a win-back offer"];
/// An offer by Apple's offerType.
export const offer = (type) => offers[type - 1] ?? "an offer";

/// Why an entitlement is active.
export const bases = {
  paid: "paid", grace: "grace period", leeway: "leeway of the configuration",
  one_time: "one-time purchase", family: "family sharing", assigned: "assigned seat",
  granted: "granted by you",
};

/// Why something is in quarantine: after "12 notifications", and what to do.
export const reasons = {
  other_app: ["of an app that is not configured",
    "Add the app to `apps` of the configuration, reload, then admit."],
  other_environment: ["of an environment that is not configured",
    "Add the environment to the app’s `environments`, reload, then admit."],
  other_app_apple_id: ["with another appAppleId than configured",
    "Correct `appAppleId` of the app, reload, then admit."],
  no_app: ["with new content that names no app",
    "If it is yours: `subledger quarantine admit --app ID --environment E`."],
  conflict: ["with a known UUID and other content",
    "Apple repeats a notification unchanged. Compare both in the subscription’s events."],
  payload_json: ["whose payload is not JSON", "A newer version of Subledger may read it: admit then."],
};

/// States of requests for refunds.
export const refundStates = {
  waiting: ["Open", "amber"], answered: ["Answered", "green"],
  declined_to_answer: ["Not answered", "gray"], refused: ["Refused by Apple", "red"],
  missed: ["Missed", "red"], closed: ["Decided before", "gray"],
};

/// What Apple decided; without a name: nothing that was told.
export const refundOutcomes = { refunded: ["Refunded", "red"], declined: ["Declined", "green"],
  reversed: ["Reversed", "amber"], untold: ["Never told", "gray"], "": ["Not told yet", "gray"] };

/// Why a customer asks, by Apple’s consumptionRequestReason.
export const refundReason = (name) => (name === null ? "–" : new Map([
  ["UNINTENDED_PURCHASE", "did not intend it"], ["FULFILLMENT_ISSUE", "did not get it"],
  ["UNSATISFIED_WITH_PURCHASE", "is not satisfied"], ["LEGAL", "legal reason"],
  ["OTHER", "another reason"]]).get(name) ?? name);

/// What Apple is told, by Apple’s names.
export const told = (name) => (name === null ? "no preference" : new Map([
  ["GRANT_FULL", "refund all"], ["GRANT_PRORATED", "refund a part"], ["DECLINE", "do not refund"],
  ["DELIVERED", "it was delivered"], ["UNDELIVERED_QUALITY_ISSUE", "it was not as it should be"],
  ["UNDELIVERED_WRONG_ITEM", "something else was delivered"],
  ["UNDELIVERED_SERVER_OUTAGE", "not delivered: a server was down"],
  ["UNDELIVERED_OTHER", "it was not delivered"]]).get(name) ?? name);

/// Why Apple is told nothing.
export const withheld = (name) => new Map([
  ["no_consent", "nothing is sent: the customer has not consented"],
  ["silent", "nothing is sent: so it was decided"],
  ["family_shared", "nothing is sent: it is shared in the family"],
  ["assigned", "nothing is sent: it is an assigned seat"],
  ["advanced_commerce", "answer it yourself: Advanced Commerce has another call"],
]).get(name) ?? `nothing is sent: ${name}`;
