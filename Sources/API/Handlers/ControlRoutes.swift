import AppStore
import Delivery
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes for commands, which hand work to the daemon over the unix socket of its data folder.
/// They are not part of the contract.
extension Route {
  static let control = [
    Route(
      local: "POST", "/control/ingest",
      bodyLimit: { ($0 + 1024) * BatchReceive.maximumLines }, answer: LedgerHandler.ingest),
    Route(local: "POST", "/control/quarantine/admit", answer: LedgerHandler.admitQuarantined),
    Route(local: "POST", "/control/quarantine/drop", answer: LedgerHandler.dropQuarantined),
    Route(
      local: "POST", "/control/statement", bodyLimit: { $0 }, answer: LedgerHandler.journalStatement
    ),
    Route(local: "POST", "/control/erase", answer: LedgerHandler.eraseLocally),
    Route(local: "POST", "/control/sink", answer: LedgerHandler.commandSink),
    Route(local: "GET", "/control/events", feed, answer: LedgerHandler.followEvents),
    Route(local: "GET", "/control/refusals", answer: LedgerHandler.countRefusals),
    Route(local: "POST", "/control/recovered", answer: LedgerHandler.noteRecovered),
    Route(local: "POST", "/control/projection", answer: LedgerHandler.orderProjection),
  ]
}

extension LedgerHandler {
  /// Makes the built projection live, or folds one purchase again, for a `rebuild` command.
  fileprivate func orderProjection(_ call: Call) -> HTTPResponse? {
    guard
      let order = (try? JSONDocument(parsing: call.request.body)).flatMap({
        ProjectionOrder($0.root)
      })
    else { return Problem.response(.malformed("command")) }
    service.ledger.perform(order) { call.sender.send(.json($0.json)) }
    return nil
  }

  /// The feed, for `events --follow`.
  fileprivate func followEvents(_ call: Call) throws(ParameterFault) -> HTTPResponse? {
    guard let query = try? QueryString(call.request.query, of: call.route) else {
      return Problem.response(.malformed("query"))
    }
    return try feed(call, query)
  }

  fileprivate func eraseLocally(_ call: Call) -> HTTPResponse? {
    erase(
      String(decoding: call.request.body, as: UTF8.self), by: Self.caller(call.request),
      through: call.sender)
    return nil
  }

  /// The user who ran the command, as a log line names him.
  private static func caller(_ request: HTTPRequest) -> Log.Field {
    guard case .local(let user) = request.peer else { return ("user", .null) }
    return ("user", .string(UserName.of(user)))
  }

  /// The ids that one log line lists.
  private static func listed(_ ids: [Int64]) -> JSONValue {
    .array(ids.prefix(20).map(JSONValue.integer))
  }

  /// How many notifications were refused since the daemon started, by reason.
  fileprivate func countRefusals(_ call: Call) -> HTTPResponse? {
    .json([
      ("started_at", .integer(service.metrics.startedAt)),
      (
        "refusals",
        .object(service.metrics.refusals.samples.map { ($0.key, .integer($0.count)) })
      ),
    ])
  }

  /// Notes what a command found of an app. An app that is not configured is not shown.
  fileprivate func noteRecovered(_ call: Call) -> HTTPResponse? {
    guard let root = try? JSONDocument(parsing: call.request.body).root,
      let bundleId = root["bundle_id"]?.string, configuration.apps[bundleId] != nil,
      let environment = root["environment"]?.string.flatMap(Environment.init(rawValue:))
    else { return Problem.response(.malformed("command")) }
    service.recordByHand(RecoveryStatus.Last(root), of: .init(environment, bundleId))
    return .json([("result", .string("noted"))])
  }

  /// Proves and submits the lines of a batch. `skip_bad` in the query continues after a refused
  /// line; `keep_chain` refuses a line that does not continue the journal's hash chain. The
  /// response has one outcome per line and is sent when the writer has processed them all.
  fileprivate func ingest(_ call: Call) -> HTTPResponse? {
    let lines = call.request.body.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard lines.count <= BatchReceive.maximumLines else {
      return Problem.response(.malformed("too_many_lines"))
    }
    let options = call.request.query?.split(separator: "&") ?? []
    let (service, start) = (service, Clock.monotonicNanoseconds())
    BatchReceive.receive(
      lines, skipsRefused: options.contains("skip_bad"), receiver: receiver,
      ledger: service.ledger, at: Clock.now(), limit: bodyLimit,
      verifying: options.contains("keep_chain")
        ? ImportChainVerifier(after: service.ledger.head) : nil,
      onOutcome: { service.record($0, $1) }
    ) { outcomes in
      service.record(batch: outcomes, since: start)
      call.sender.send(.json([("outcomes", BatchReceive.json(outcomes))]))
    }
    recordChainCache()
    return nil
  }

  /// The ids in a body, one a line; nil if there are too many or one is no number.
  private static func ids(_ body: ArraySlice<UInt8>) -> [Int64]? {
    let lines = body.split(separator: 0x0A)
    let ids = lines.compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
    return ids.count == lines.count && ids.count <= QuarantineAdmission.batchLimit ? ids : nil
  }

  /// The app that the owner says notifications are of, where the first line names its environment
  /// and its bundle id; and the other lines.
  private static func origin(
    _ body: [UInt8]
  ) -> (Receiver.EvidenceOrigin?, ids: ArraySlice<UInt8>) {
    let line = body.prefix { $0 != 0x0A }
    let words = line.split(separator: 0x20, maxSplits: 1).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard words.count == 2 else { return (nil, body[...]) }
    let environment = Environment(rawValue: words[0])
    return (
      Receiver.EvidenceOrigin(bundleId: words[1], environment: environment), body[line.endIndex...]
    )
  }

  /// Ingests quarantined notifications again, under the current configuration.
  fileprivate func admitQuarantined(_ call: Call) -> HTTPResponse? {
    let (origin, list) = Self.origin(call.request.body)
    guard let ids = Self.ids(list) else { return Problem.response(.malformed("ids")) }
    let caller = Self.caller(call.request)
    let (service, start) = (service, Clock.monotonicNanoseconds())
    do throws(LedgerError) {
      try QuarantineAdmission.admit(
        ids, from: origin, receiver: receiver, ledger: service.ledger, at: Clock.now(),
        onOutcome: { service.record($0, $1) }
      ) { outcomes in
        service.record(batch: outcomes, since: start)
        let admitted = outcomes.count { $0.refusal == nil }
        Log.write(
          .info, "quarantine_admitted",
          [("count", .integer(Int64(admitted))), ("ids", Self.listed(ids)), caller])
        call.sender.send(.json([("outcomes", BatchReceive.json(outcomes))]))
      }
      return nil
    } catch {
      return Problem.response(.unavailable("journal"))
    }
  }

  /// Does what a `sink` command asks.
  fileprivate func commandSink(_ call: Call) -> HTTPResponse? {
    let sender = call.sender
    guard let root = try? JSONDocument(parsing: call.request.body).root,
      let command = SinkCommand(root)
    else { return Problem.response(.malformed("command")) }
    service.perform(command) { outcome in
      switch outcome {
      case .done(let value): sender.send(.json([("result", value)]))
      case .noSink:
        let reason = JSONValue.string("no sink has this name; see: subledger sink list")
        sender.send(.json([("refused", reason)], status: 404))
      case .refused(let why): sender.send(.json([("refused", .string(why))], status: 409))
      case .unavailable: sender.send(Problem.response(.unavailable("delivery")))
      }
    }
    return nil
  }

  /// Journals a claim or a grant of a command, or the end of one.
  fileprivate func journalStatement(_ call: Call) -> HTTPResponse? {
    guard let root = try? JSONDocument(parsing: call.request.body).root,
      let statement = NewStatement(root, receivedAt: Clock.now())
    else { return Problem.response(.malformed("statement")) }
    let caller = Self.caller(call.request)
    service.ledger.submit(Receiver.Received(statement)) { [service] outcome in
      service.record(statement, outcome, by: caller)
      call.sender.send(
        outcome.refusal.map { Problem.response($0) }
          ?? .json([("outcome", .string(outcome.name))]))
    }
    return nil
  }

  /// Deletes quarantined notifications.
  fileprivate func dropQuarantined(_ call: Call) -> HTTPResponse? {
    guard let ids = Self.ids(call.request.body[...]) else {
      return Problem.response(.malformed("ids"))
    }
    let caller = Self.caller(call.request)
    service.ledger.dropQuarantined(ids) { count in
      Log.write(
        .info, "quarantine_dropped",
        [
          ("count", .optional(count.map { Int64($0) })),
          ("ids", Self.listed(ids)), caller,
        ])
      call.sender.send(
        count.map { .json([("dropped", .integer(Int64($0)))]) }
          ?? Problem.response(.unavailable("journal")))
    }
    return nil
  }
}
