import AppStore
import Delivery
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes about the whole ledger, limited to what the token may read.
extension Route {
  static let search = Route(
    "findPurchases", .entitlements, "GET", "/v1/search", .token(.read),
    "Finds the purchases that an id of Apple's belongs to: an original transaction id, a "
      + "transaction id or a notification's UUID.",
    [Parameter("id", .text, "The id, in any of these forms.", isRequired: true)],
    replies: .usual("The purchases; none if the id is in none.", "FoundPurchaseList"),
    answer: LedgerHandler.findPurchases)

  static let overview = Route(
    "getOverview", .ledger, "GET", "/v1/overview", .token(.read),
    "Returns counts of recent notifications, of rows by status and of quarantine, and what was "
      + "recovered.",
    [
      Parameter(
        "hours", .integer(1...168, default: 24),
        "The number of hours to cover, the current hour included."),
      .onlyEnvironment, .onlyBundleId,
    ], replies: .usual("The counts so far.", "Overview"), answer: LedgerHandler.getOverview)

  static let quarantine = Route(
    "listQuarantine", .ledger, "GET", "/v1/quarantine", .token(.read),
    "Lists genuine notifications that were not admitted, newest first.",
    [
      Parameter("reason", .text, "Only those that were not admitted for this reason."),
      Parameter("environment", .environment, "Only those that name this environment."),
      Parameter("bundle_id", .text, "Only those that name this app."),
      Parameter("raw", .boolean, "Whether to add the decoded payload of each notification."),
      .limit(500, default: 50), .after,
    ], replies: .usual("One page of quarantined notifications.", "QuarantineList"),
    answer: LedgerHandler.listQuarantine)

  static let comparison = Route(
    "getComparison", .ledger, "GET", "/v1/rebuild", .token(.read),
    "Returns the result of the last `rebuild --diff`.",
    replies: .usual(
      "Counts and samples of the differences.", "Comparison",
      Reply(404, "There is no comparison.", .problem(Problem.noComparison))),
    answer: LedgerHandler.getComparison)

  static let events = Route(
    "listEvents", .ledger, "GET", "/v1/events", .token(.read),
    "Lists the events of the journal in order, and waits for new ones.", feed,
    replies: .usual(
      "A page of events; `next_page` is the cursor of the next.", "EventPage",
      Reply(410, "The cursor is of another history of the journal, as after a restore.")),
    answer: LedgerHandler.listEvents)

  static let sinks = Route(
    "listSinks", .ledger, "GET", "/v1/sinks", .token(.read),
    "Lists where changes are sent, and how far each receiver is.", [],
    replies: [
      .answer("The sinks, by name, each followed by its replays.", "SinkList"), .unauthorized,
      .notAllowed, .unavailable,
    ], answer: LedgerHandler.listSinks)

  /// The parameters of the feed.
  static let feed = [
    Parameter(
      "after", .place,
      "A cursor, 0 for the first event, or received: with a time. Without it, 0; with wait "
        + "or order=newest, the newest event."),
    Parameter(
      "order", .choice(Feed.Order.allCases.map(\.rawValue)),
      "Which events come first. With newest, a page continues before the cursor, and there is "
        + "no waiting; oldest if absent."),
    Parameter(
      "since", .time, "Only events received at this time or later; RFC 3339 or milliseconds."),
    Parameter(
      "until", .time, "Only events received before this time; RFC 3339 or milliseconds."),
    .limit(1000, default: 100),
    Parameter(
      "wait", .integer(0...30, default: 0), "Seconds to wait for an event if there is none."),
    .onlyEnvironment, .onlyBundleId,
    Parameter(
      "type", .texts,
      "Only this notification type, such as DID_RENEW, or these, separated by commas."),
    Parameter(
      "source", .words(EventSource.all.map(\.rawValue)),
      "Only events from this source, or these, separated by commas: v2 and v1 are "
        + "notifications, transaction, renewal and receipt evidence, account and grant yours."),
    Parameter(
      "arrival", .words(EventArrival.allCases.map(\.rawValue)),
      "Only events that came in this way, or these, separated by commas: posted by Apple, from "
        + "Apple's history, import, asked of Apple, submitted by your backend."),
    Parameter("subtype", .text, "Only this subtype."),
    Parameter(
      "original_transaction_id", .text, "Only events of this original transaction id."),
    Parameter(
      "include", .words(Feed.Inclusion.allCases.map(\.rawValue)),
      "What to add to each event, separated by commas: row, payload, body."),
  ]
}

extension LedgerHandler {
  /// The purchases that an id belongs to.
  fileprivate func findPurchases(_ call: Call) -> HTTPResponse? {
    service.answer(.long, call) { reader throws(LedgerError) in
      .json(
        Answers.all(of: FoundPurchase.object).json(
          try reader.purchases(
            withId: call.query["id"] ?? "",
            LedgerReader.Question(asOf: nil, knownAt: nil, now: Clock.now(), token: call.token))))
    }
  }

  fileprivate func getOverview(_ call: Call) -> HTTPResponse? {
    let question = Overview.Question(
      hours: call.query.integer("hours", of: call.route), now: Clock.now(),
      environment: call.query.environment, bundleId: call.query["bundle_id"], token: call.token)
    return service.answer(.long, call) { [service] reader throws(LedgerError) in
      var found = try reader.overview(
        question, service.rows, service.arrivals, service.configuration)
      found.recovery = service.recoveryOverview(of: question)
      found.refusedMapping = (service.mappingStatus?.refused ?? []).filter {
        question.covers($0.group.app.environment, $0.group.app.bundleId)
      }
      return .json(Overview.Answer.object.json(found))
    }
  }

  /// A page of the quarantine, newest first. The cursor is the id of the last item shown.
  fileprivate func listQuarantine(_ call: Call) throws(ParameterFault) -> HTTPResponse? {
    let query = call.query
    // Ids count from 1, the newest is the greatest; the next page continues below the last id.
    let after = try query.position()
    return service.answer(.long, call) { reader throws(LedgerError) in
      let page = try reader.quarantine(
        through: after == 0 ? .max : after - 1,
        QuarantineFilter(
          reason: query["reason"], bundleId: query["bundle_id"], environment: query.environment),
        limit: call.limit, isRaw: query.isTrue("raw"), for: call.token)
      return .json(
        page.items.map(\.json), next: page.next.map(String.init), of: QuarantinedEntry.object)
    }
  }

  /// The stored result of `rebuild --diff`.
  fileprivate func getComparison(_ call: Call) -> HTTPResponse? {
    service.answer(.long, call) { [service] _ throws(LedgerError) in
      let stored = try StoredDiff.read(service.ledger.folder, for: call.token)
      return stored.map { .json(Comparison.object.json($0)) } ?? Problem.noComparison
    }
  }

  fileprivate func listEvents(_ call: Call) throws(ParameterFault) -> HTTPResponse? {
    try feed(call, call.query).map(service.finished)
  }

  /// A page of the feed, when there is something new; sent by another thread.
  ///
  /// - Returns: the refusal if too many wait.
  func feed(_ call: Call, _ query: QueryString) throws(ParameterFault) -> HTTPResponse? {
    let wait = query.integer("wait", of: call.route)
    let order = query["order"].flatMap(Feed.Order.init) ?? .oldest
    // Nothing new comes before what is known.
    guard wait == 0 || order == .oldest else {
      throw ParameterFault(.invalid, "wait", expected: .integer(in: 0...0, default: 0))
    }
    let usual = wait > 0 || order == .newest ? Feed.Place.end : .start
    var question = Feed.Question(
      query["after"].flatMap(Feed.place) ?? usual,
      limit: Int(query.integer("limit", of: call.route)), token: call.token)
    question.order = order
    (question.since, question.until) = (query.time("since"), query.time("until"))
    question.filter.notificationTypes = query.list("type")
    question.filter.sources = query.list("source").map(EventSource.init(rawValue:))
    question.filter.arrivals = query.list("arrival").compactMap(EventArrival.init)
    question.filter.subtype = query["subtype"]
    question.filter.environment = query.environment
    question.filter.bundleId = query["bundle_id"]
    question.filter.originalTransactionId = query["original_transaction_id"]
    question.include = Set(query.list("include").compactMap(Feed.Inclusion.init))
    let isQueued = service.feed.ask(question, call, seconds: wait)
    return isQueued ? nil : Problem.response(.unavailable("overload"))
  }

  /// What every sink does. A sink tells of all apps.
  fileprivate func listSinks(_ call: Call) -> HTTPResponse? {
    guard call.token.coversEverything else { return service.finished(Problem.notAllowed) }
    return .json(Answers.all(of: DeliveryStatus.object).json(service.deliveryStatuses))
  }
}
