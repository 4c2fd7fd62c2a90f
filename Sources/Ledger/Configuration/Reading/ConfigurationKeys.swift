import AppStore
import Entitlements
public import StrictJSON

/// One key of the configuration file: `ConfigurationReader` accepts these keys and no other, and
/// the manual and `subledger help configuration` describe them.
public struct ConfigurationKey: Sendable {
  /// The object of the file that holds the key. The raw value is the prefix of the key's path.
  public enum Parent: String, Sendable, CaseIterable {
    case file = ""
    case app = "apps[]."
    case readToken = "readTokens[]."
    case limits = "limits."
    case anchors = "anchors."
    case appStore = "appStore."
    case verifyReceipt = "verifyReceipt."
    case entitlement = "entitlements.NAME."
    case duration = "nonRenewingDurations.PRODUCT."
    case sink = "sinks[]."
    case mirror = "sinks[kind mirror]."
    case sharedJournal = "sharedJournal."
    case refunds = "refunds."
    case refundPolicy = "refunds.policies[]."
  }

  public let parent: Parent
  public let name: String
  /// The JSON type of the value, in the words of the manual.
  public let type: String
  /// The value that holds if the key is left out; `none`, or `required`.
  public let usual: String
  public let meaning: String
  /// A value to begin with, of a key that a first configuration may need.
  private let sample: JSONValue?
  /// Of a key whose change needs a restart: whether two configurations say the same of it.
  let isSame: (@Sendable (Configuration, Configuration) -> Bool)?
  /// Whether a change of this key, which is one of the file, needs a restart.
  public var needsRestart: Bool { isSame != nil }

  /// Where the key stands in the file: `limits.bodyBytes`.
  public var path: String { parent.rawValue + name }

  init(
    _ parent: Parent, _ name: String, _ type: String, _ usual: String, _ meaning: String,
    sample: JSONValue? = nil,
    needsRestartUnless isSame: (@Sendable (Configuration, Configuration) -> Bool)? = nil
  ) {
    (self.parent, self.name, self.type, self.usual) = (parent, name, type, usual)
    (self.meaning, self.sample, self.isSame) = (meaning, sample, isSame)
  }
}

extension ConfigurationKey {
  /// A value to begin with: the key's own, or an object of the keys in it that have one.
  public var example: JSONValue? {
    let inner: [String: Parent] = ["appStore": .appStore, "sinks": .sink]
    guard sample == nil, parent == .file, let parent = inner[name] else { return sample }
    let object = JSONValue.object(
      Self.table.filter { $0.parent == parent }.compactMap { key in
        key.sample.map { (key.name, $0) }
      })
    return name == "sinks" ? .array([object]) : object
  }

  /// The example of a key of the file, as a member of the file.
  public static func example(_ name: String) -> String? {
    let key = table.first { $0.parent == .file && $0.name == name }
    return key?.example.map { "\"\(name)\": \($0.prettyText)" }
  }
}

extension ConfigurationKey {
  /// The names of an object's keys.
  static func names(in parent: Parent) -> Set<String> {
    Set(table.lazy.filter { $0.parent == parent }.map(\.name))
  }

  /// Every key, in the order of the manual.
  public static let table =
    top + app + readToken + limits + anchors + appStore + verifyReceipt + entitlement
    + sink + mirror + sharedJournal + refunds

  private static let names = JSONValue.object([
    ("pro", .array([.string("pro.monthly"), .string("pro.yearly")])),
    ("remove_ads", .array([.string("lifetime"), .string("pro.*")])),
  ])

  /// With spaces at which a line can be broken.
  private static let namesText = names.text.replacing("\":", with: "\": ")
    .replacing(",\"", with: ", \"")

  private static let top = [
    ConfigurationKey(
      .file, "listen", "text", "127.0.0.1:8080",
      "HOST:PORT of the HTTP server; port 0 picks a free port. TLS is left to a reverse proxy.",
      needsRestartUnless: { $0.listen == $1.listen }),
    ConfigurationKey(
      .file, "data", "text", "/var/lib/subledger",
      "The data folder, made with mode 0700. A relative path starts at the working directory.",
      needsRestartUnless: { $0.data == $1.data }),
    ConfigurationKey(
      .file, "apps", "list of objects", "none",
      "The apps whose notifications are admitted. Genuine notifications of other apps are "
        + "quarantined."),
    ConfigurationKey(
      .file, "trustRoots", "list of paths", "none",
      "Files with further root certificates (DER or PEM), trusted in addition to Apple Root CA - "
        + "G3. The list must not be empty."),
    ConfigurationKey(
      .file, "trustedProxies", "list of texts", "127.0.0.1, ::1",
      "Addresses of peers that may hold more connections than limits.connectionsPerAddress: the "
        + "reverse proxies.",
      needsRestartUnless: { $0.trustedProxies == $1.trustedProxies }),
    ConfigurationKey(
      .file, "readTokens", "list of objects", "none",
      "The bearer tokens that may read over HTTP. Without one, every read is answered with 401."),
    ConfigurationKey(
      .file, "limits", "object", "see its keys", "Limits on connections, requests and disk space.",
      needsRestartUnless: { $0.limits == $1.limits }),
    ConfigurationKey(
      .file, "anchors", "object", "none",
      "Makes the daemon append anchors to a second file: signed lines that fix the journal.",
      needsRestartUnless: { $0.anchors == $1.anchors }),
    ConfigurationKey(
      .file, "appStore", "object", "none",
      "How Apple is asked about every app (App Store Server API). Without it, Apple is not asked."),
    ConfigurationKey(
      .file, "verifyReceipt", "object", "see its keys",
      "Where `subledger receipt --ask` sends a receipt."),
    ConfigurationKey(
      .file, "sinks", "list of objects", "none",
      "Where changes are sent: webhooks, forwarded notifications, mirrors in PostgreSQL; at most "
        + "32."),
    ConfigurationKey(
      .file, "sharedJournal", "object", "none",
      "The journal on PostgreSQL that several daemons append to; data is a copy of it then. "
        + "Without it, the journal is in data alone.",
      needsRestartUnless: { $0.sharedJournal == $1.sharedJournal }),
    ConfigurationKey(
      .file, "refunds", "object", "none",
      "What Apple is told when a customer asks for a refund. Without it, Apple is told nothing."),
    ConfigurationKey(
      .file, "logLevel", "text", "info",
      "info, warning or error: less important log lines are left out."),
    ConfigurationKey(
      .file, "nonRenewingDurations", "object", "none",
      "How long non-renewing subscriptions last, by product id, in days or weeks: "
        + "{\"season.pass\": \"P90D\", \"camp\": \"P12W\"}; or an object with the keys below. A "
        + "change is compared and put in force like one of entitlements, and counts from then on."),
    ConfigurationKey(
      .file, "entitlements", "object", "none",
      "What GET /v1/customers answers about, by names of your choice, with the products that give "
        + "each: \(namesText), or an object with the keys below. A name has at most 64 letters, "
        + "digits, _, - and dots.", sample: names),
    ConfigurationKey(
      .file, "entitlementLossLimit", "number, object or null", "5",
      "Per cent of those who have an entitlement in Production, from 0 to 100. A change by which "
        + "more would lose one, and at least 20, does not take effect for that one by a start or "
        + "a reload; see subledger entitlements --help. {\"Production\": 5, \"Sandbox\": 20} "
        + "limits both, null none."),
  ]

  private static let app = [
    ConfigurationKey(
      .app, "bundleId", "text", "required", "The app's bundle id. Each app is given once."),
    ConfigurationKey(
      .app, "appAppleId", "whole number", "required for Production",
      "The app's \"Apple ID\" in App Store Connect, under App Information. A notification of the "
        + "Production environment must carry it."),
    ConfigurationKey(
      .app, "environments", "list of texts", "Production, Sandbox",
      "The environments whose notifications are admitted. The list must not be empty."),
    ConfigurationKey(
      .app, "v1SharedSecretFile", "path", "none",
      "Admits version 1 notifications that carry a shared secret of this file. The file holds one "
        + "secret per line, at most two (during a rotation), and has mode 0600. A bare file name "
        + "is looked up in $CREDENTIALS_DIRECTORY first, the folder of systemd credentials."),
    ConfigurationKey(
      .app, "nonRenewingDurations", "object", "none",
      "As the key of this name at the top, written beside the app. A product that is given in both "
        + "must have the same duration."),
    ConfigurationKey(
      .app, "appStore", "object", "none",
      "As the key of this name at the top, for this app: each of its keys wins over the one there."
    ),
    ConfigurationKey(
      .app, "entitlements", "object", "none",
      "As the key of this name at the top, for this app: a name here wins over the same name there."
    ),
  ]

  private static let readToken = [
    ConfigurationKey(
      .readToken, "name", "text", "required", "A name for the token; several may share one."),
    ConfigurationKey(
      .readToken, "sha256", "text", "required",
      "The SHA-256 of the token as 64 hexadecimal digits. The token itself is stored nowhere."),
    ConfigurationKey(
      .readToken, "bundleIds", "list of texts", "all apps", "The token covers only these apps."),
    ConfigurationKey(
      .readToken, "environments", "list of texts", "Production, Sandbox",
      "The token covers only these environments."),
    ConfigurationKey(
      .readToken, "may", "list of texts", "read",
      "What the token may do: read (every GET), metrics (GET /metrics alone), submit (what Apple "
        + "signed), claim (say without it which account has a purchase), grant (entitlements), "
        + "lookup (ask Apple for an order id), refunds (say what Apple is told of requests for "
        + "refunds), erase (accounts). Without read it is shown what it did, and no row."),
  ]

  /// The values that hold if the file says nothing else.
  private static let defaults = Configuration.Limits()

  private static let limits = [
    ConfigurationKey(
      .limits, "bodyBytes", "whole number", "\(defaults.bodyBytes)",
      "Bytes of a notification's body. Where an app takes version 1, at least 4194304 (4 MiB) are "
        + "accepted, because those bodies carry whole receipts."),
    ConfigurationKey(
      .limits, "connections", "whole number", "\(defaults.connections)",
      "Open connections. A further one is answered with 503."),
    ConfigurationKey(
      .limits, "connectionsPerAddress", "whole number", "\(defaults.connectionsPerAddress)",
      "Open connections of one address that is not in trustedProxies; IPv6 addresses of one /64 "
        + "network count as one."),
    ConfigurationKey(
      .limits, "headerSeconds", "whole number", "\(defaults.headerSeconds)",
      "Seconds in which the header of a request must arrive."),
    ConfigurationKey(
      .limits, "bodySeconds", "whole number", "\(defaults.bodySeconds)",
      "Seconds in which the body of a request must arrive."),
    ConfigurationKey(
      .limits, "idleSeconds", "whole number", "\(defaults.idleSeconds)",
      "Seconds after which a connection without a request is closed."),
    ConfigurationKey(
      .limits, "diskBytes", "whole number", "\(defaults.diskBytes)",
      "Free bytes on the disk of the data folder below which /readyz answers 503."),
  ]

  private static let schedule = Configuration.Anchors(file: "")

  private static let anchors = [
    ConfigurationKey(
      .anchors, "file", "path", "required",
      "The file to append to. Choose a volume where the owner of the journal cannot change it."),
    ConfigurationKey(
      .anchors, "events", "whole number", "\(schedule.events)",
      "Appends an anchor after each of this number of events."),
    ConfigurationKey(
      .anchors, "minutes", "whole number", "\(schedule.minutes)",
      "Appends an anchor when the journal has grown at all and this number of minutes has passed."
    ),
  ]

  private typealias Access = Configuration.AppStoreAccess

  private static let appStore = [
    ConfigurationKey(
      .appStore, "issuerId", "text", "required",
      "The issuer id of the team's In-App Purchase keys: App Store Connect, Users and Access, "
        + "Integrations, In-App Purchase.",
      sample: .string("57246542-96fe-1a63-e053-0824d011072a")),
    ConfigurationKey(
      .appStore, "keyId", "text", "required",
      "The id of an In-App Purchase key. A key of another kind is refused by Apple.",
      sample: .string("2X9R4HXF34")),
    ConfigurationKey(
      .appStore, "keyFile", "path", "required",
      "The key itself, the file SubscriptionKey_….p8 that App Store Connect gives once, with mode "
        + "0600. A bare file name is looked up in $CREDENTIALS_DIRECTORY first.",
      sample: .string("SubscriptionKey_2X9R4HXF34.p8")),
    ConfigurationKey(
      .appStore, "production", "text", Access.productionAddress,
      "The address of the API for Production. Plain http is accepted on loopback alone."),
    ConfigurationKey(
      .appStore, "sandbox", "text", Access.sandboxAddress, "The same for the Sandbox."),
    ConfigurationKey(
      .appStore, "limitShare", "number", "\(Access.usualLimitShare)",
      "The share of Apple's limits that this program uses, from 0.01 to 1, of each app, "
        + "environment and call. Your other programs need the rest."),
    ConfigurationKey(
      .appStore, "recover", "text", "automatic",
      "automatic or off: whether the daemon may ask Apple by itself, for notifications that it "
        + "missed, and once a day about the customers whom reconcileAfter describes."),
    ConfigurationKey(
      .appStore, "reconcileAfter", "text", "PT24H",
      "How long after the end of a paid period without word a customer is due to be compared with "
        + "what Apple says, in hours or days: PT24H, P2D."),
    ConfigurationKey(
      .appStore, "proxy", "text", "none",
      "A proxy for the requests to Apple, such as http://127.0.0.1:3128. Proxies of the "
        + "environment are ignored."),
  ]
  private static let verifyReceipt = [
    ConfigurationKey(
      .verifyReceipt, "production", "text", Configuration.ReceiptService.productionAddress,
      "The address before /verifyReceipt. Plain http is accepted on loopback alone."),
    ConfigurationKey(
      .verifyReceipt, "sandbox", "text", Configuration.ReceiptService.sandboxAddress,
      "The same for the Sandbox."),
  ]
  private static let entitlement = [
    ConfigurationKey(
      .entitlement, "products", "list of texts", "required",
      "The product ids that give the entitlement. One that ends with * stands for all that begin "
        + "with the rest of it. Consumables never give one."),
    ConfigurationKey(
      .entitlement, "accessLeeway", "text", "none",
      "How long access goes on after the end of a paid period that was to renew, while no word "
        + "from Apple has come, in hours or days up to P7D: PT6H. With it an outage of "
        + "notifications at a renewal locks nobody out. Rows and gives_access are not affected."),
    ConfigurationKey(
      .duration, "lasts", "text", "required", "How long a purchase lasts, in days or weeks: P90D."),
    ConfigurationKey(
      .duration, "again", "text", "none",
      "adds: a product that is bought again before its end lasts on from that end, for the "
        + "names that it gives. Without it each purchase lasts from its own date. Rows are not "
        + "affected."),
  ]

  private static let sink = [
    ConfigurationKey(
      .sink, "name", "text", "required",
      "1 to 40 of a-z, 0-9 and -. The place in the journal is kept by the name: another name is "
        + "another sink.", sample: .string("backend")),
    ConfigurationKey(
      .sink, "kind", "text", "required",
      "webhook: signed messages with the whole row. forward: Apple's notification as received. "
        + "mirror: rows in a PostgreSQL database; its keys are below.", sample: .string("webhook")),
    ConfigurationKey(
      .sink, "url", "text", "required",
      "Where messages are POSTed: https, or with privateNetwork also http.",
      sample: .string("https://api.example.com/subledger")),
    ConfigurationKey(
      .sink, "secretFile", "path", "required for webhook",
      "A file of mode 0600 with the secret that signs, from `subledger sink secret`; two lines "
        + "during a rotation, the new one first.", sample: .string("backend.whsec")),
    ConfigurationKey(
      .sink, "types", "list of texts", "all types",
      "Globs over the message type: app_store.did_renew*, subledger.*."),
    ConfigurationKey(
      .sink, "environments", "list of texts", "Production, Sandbox",
      "Only events of these environments are sent."),
    ConfigurationKey(
      .sink, "bundleIds", "list of texts", "all apps", "Only events of these apps are sent."),
    ConfigurationKey(
      .sink, "arrivals", "list of texts", "all but import",
      "How an event came, as `arrival` in the history says: posted, history, import, asked, "
        + "submitted."),
    ConfigurationKey(
      .sink, "include", "list of texts", "none",
      "payload adds Apple's notification, decoded, to the message."),
    ConfigurationKey(
      .sink, "from", "text", "now",
      "Where a new sink begins: now, start, or a cursor of GET /v1/events."),
    ConfigurationKey(
      .sink, "order", "text", "customer",
      "customer: one message of a customer at a time. none: no order. total: one message at a "
        + "time, and a refused one holds up all."),
    ConfigurationKey(
      .sink, "concurrency", "whole number", "8",
      "Requests at the same time, to 64, which all sinks together have in equal shares."),
    ConfigurationKey(
      .sink, "timeoutSeconds", "whole number", "20", "Seconds for a whole answer, to 120."),
    ConfigurationKey(
      .sink, "v1", "text", "skip",
      "For forward: skip leaves version 1 notifications out, withSecret sends them with the app's "
        + "shared secret put back, which the journal does not keep."),
    ConfigurationKey(
      .sink, "privateNetwork", "boolean", "false",
      "Allows loopback and private addresses, and http. Others are refused when a request "
        + "connects, whatever the name server says."),
    ConfigurationKey(
      .sink, "quarantine", "boolean", "false",
      "For forward: true sends genuine version 2 notifications that were not admitted too, such as "
        + "those of another app."),
    ConfigurationKey(
      .sink, "proxy", "text", "none",
      "A proxy for the requests, such as http://127.0.0.1:4750, which then decides where they may "
        + "go. Proxies of the environment are ignored."),
    ConfigurationKey(
      .sink, "headerFiles", "object", "none",
      "Header fields to send, each with a file of mode 0600 that holds its value: "
        + "{\"Authorization\": \"inside.auth\"}."),
    ConfigurationKey(
      .sink, "caFile", "path", "the system's", "Certificate authorities for the receiver, in PEM."),
    ConfigurationKey(
      .sink, "clientCertificateFile", "path", "none", "The certificate to show, in PEM."),
    ConfigurationKey(
      .sink, "clientKeyFile", "path", "clientCertificateFile", "Its private key, mode 0600."),
  ]

  private static let mirror = [
    ConfigurationKey(.mirror, "name", "text", "required", "As of any sink."),
    ConfigurationKey(.mirror, "kind", "text", "required", "mirror."),
    ConfigurationKey(
      .mirror, "connection", "text", "required",
      "The database, as libpq takes it: host=db dbname=app user=subledger sslmode=verify-full."),
    ConfigurationKey(
      .mirror, "passwordFile", "path", "none",
      "A file of mode 0600 with the password, read for each connection."),
    ConfigurationKey(
      .mirror, "schema", "text", "subledger",
      "The schema with the tables that `subledger sink mirror-schema` makes."),
  ]

  private static let sharedJournal = [
    ConfigurationKey(
      .sharedJournal, "connection", "text", "required",
      "libpq's connection string of the daemon's role: host=a,b port=5432 dbname=app "
        + "user=subledger sslmode=verify-full sslrootcert=/etc/subledger/pg-ca.pem. Several hosts "
        + "are tried in their order. sslmode must be verify-full unless every host is a socket or "
        + "loopback. password, passfile, options and service are refused."),
    ConfigurationKey(
      .sharedJournal, "passwordFile", "path", "none",
      "A file of mode 0600 with the password, read at every connection, so that it may be rotated. "
        + "A bare file name is looked up in $CREDENTIALS_DIRECTORY first."),
    ConfigurationKey(
      .sharedJournal, "schema", "text", "subledger",
      "The schema that `subledger shared-journal migrate` made."),
    ConfigurationKey(
      .sharedJournal, "replication", "text", "any",
      "required refuses a server without a synchronous standby. any leaves that to you: where an "
        + "asynchronous standby takes over, daemons put back what it lacks."),
    ConfigurationKey(
      .sharedJournal, "reads", "text", "local",
      "local: a read may lack what other daemons appended within pollMilliseconds. fresh: it waits "
        + "for that."),
    ConfigurationKey(
      .sharedJournal, "holdSeconds", "whole number", "8",
      "How long a notification waits for the shared journal before it is answered 503, 1 to 20. "
        + "Apple sends it again after an hour."),
    ConfigurationKey(
      .sharedJournal, "pollMilliseconds", "whole number", "100",
      "How often an idle daemon looks for what others appended, 10 to 60,000."),
  ]

  private static func words<Word: CaseIterable & RawRepresentable>(
    _ type: Word.Type
  ) -> String where Word.RawValue == String {
    type.allCases.map(\.rawValue).joined(separator: ", ")
  }

  private static let refunds = [
    ConfigurationKey(
      .refunds, "policies", "list of objects", "none",
      "Who decides where your backend states no preference: the first policy whose conditions all "
        + "hold. Nothing is ever sent without the customer's consent."),
    ConfigurationKey(
      .refundPolicy, "name", "text", "required",
      "A name of its own, which each answer is shown with."
    ),
    ConfigurationKey(
      .refundPolicy, "prefer", "text", "required",
      "\(words(RefundPreference.self)). GRANT_PRORATED becomes GRANT_FULL where nothing was used, "
        + "DECLINE where all was, and NONE where that is not known. NONE sends what is known "
        + "without a preference, SILENT nothing."),
    ConfigurationKey(
      .refundPolicy, "products", "list of texts", "all",
      "Condition: product ids; * as the last character stands for anything."),
    ConfigurationKey(
      .refundPolicy, "types", "list of texts", "all",
      "Condition: \(ProductType.all.sorted().joined(separator: ", "))."),
    ConfigurationKey(
      .refundPolicy, "reasons", "list of texts", "all",
      "Condition: why the customer asks: \(ValueDescriptions.requestReason.list)."),
    ConfigurationKey(
      .refundPolicy, "environments", "list of texts", "Production, Sandbox",
      "Condition: the environment."),
    ConfigurationKey(
      .refundPolicy, "bought_within_hours", "whole number", "any",
      "Condition: at most so many hours from the purchase to the request."),
    ConfigurationKey(
      .refundPolicy, "refunds_before_at_most", "whole number", "any",
      "Condition: the customer got at most so many refunds before."),
    ConfigurationKey(
      .refundPolicy, "said_delivery", "list of texts", "any",
      "Condition: your backend said one of \(words(ConsumptionInformation.Delivery.self))."),
    ConfigurationKey(
      .refundPolicy, "said_consumed_at_least", "whole number", "any",
      "Condition: your backend said that at least so much was used, in thousandths of a percent: "
        + "100000 is all."),
    ConfigurationKey(
      .refundPolicy, "delivery", "text", "what your backend said",
      "The deliveryStatus that is sent where your backend said none. A policy that sends something "
        + "has delivery and sample, or a condition that begins with said_."),
    ConfigurationKey(
      .refundPolicy, "sample", "boolean", "what your backend said",
      "The same for sampleContentProvided: whether there was a trial, a sample or enough "
        + "information before the purchase."),
    ConfigurationKey(
      .refundPolicy, "wait_seconds", "whole number", "0",
      "How long the policy waits for your backend's word, at most "
        + "\(RefundPolicy.longestWaitSeconds). Apple decides after twelve hours."),
  ]
}
