import AppStore
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The routes that receive what an app hands over: a transaction that Apple signed, or its receipt.
extension Route {
  static let transactions = Route(
    "submitTransaction", .ingest, "POST", "/v1/transactions", .token(.submit),
    "Accepts a transaction that StoreKit 2 gave to the app, and returns its entitlement.",
    bodies: [.signedTransaction], bodyLimit: { $0 },
    replies: [
      .answer("What Apple signed is in the journal, or held, and synced to disk.", "Submitted"),
      Reply(400, "The request is malformed and will never be valid."),
      Reply(401, "The token is missing or unknown, or Apple did not sign the transaction."),
      .notAllowed,
      Reply(
        422,
        "The transaction is genuine, but of another app or environment than expected; it is not "
          + "stored."), .unavailable,
    ], answer: LedgerHandler.submitTransaction)

  static let receipts = Route(
    "submitReceipt", .ingest, "POST", "/v1/receipts", .token(.submit),
    "Accepts the receipt of an app, and returns the entitlements that it is about.",
    bodies: [.appReceipt], bodyLimit: { _ in SubmittedEvidence.maximumBytes },
    replies: [
      .answer("What Apple signed is in the journal, or held, and synced to disk.", "Receipt"),
      Reply(400, "The request is malformed and will never be valid."),
      Reply(401, "The token is missing or unknown, or Apple did not sign the receipt."),
      .notAllowed,
      Reply(
        422,
        "The receipt is genuine and not admitted. It is stored in quarantine, unless it is of "
          + "another environment than expected."), .unavailable,
    ], answer: LedgerHandler.submitReceipt)
}

extension LedgerHandler {
  fileprivate func submitTransaction(_ call: Call) -> HTTPResponse? {
    submit(call, .transaction) { receiver, root, now throws(Refusal) in
      try receiver.receive(submitted: root, at: now, from: call.token.name)
    } whole: { submissions in
      proven += submissions
    }
  }

  fileprivate func submitReceipt(_ call: Call) -> HTTPResponse? {
    submit(call, .receipt) { receiver, root, now throws(Refusal) in
      try receiver.receive(submittedReceipt: root, at: now)
    } whole: { submissions in
      service.ledger.submit(whole: submissions)
    }
  }

  /// Proves what an app hands over, and submits its parts. The response is sent when the writer has
  /// journaled all of them (promise 1).
  ///
  /// - Parameter submit: a transaction is added to the batch that `flush` submits; a receipt may
  ///   have more parts than the writer's queue takes.
  private func submit(
    _ call: Call, _ subject: Problem.Subject,
    _ receive: (Receiver, JSONElement, _ now: Int64) throws(Refusal) -> SubmittedEvidence,
    whole submit: ([Ledger.Submitted]) -> Void
  ) -> HTTPResponse? {
    let start = Clock.monotonicNanoseconds()
    defer { recordChainCache() }
    do throws(Refusal) {
      guard let body = try? JSONDocument(parsing: call.request.body, within: .unproven) else {
        throw .malformed("json")
      }
      let submitted = try receive(receiver, body.root, Clock.now())
      guard
        call.token.covers(environment: submitted.environment, bundleId: submitted.bundleId)
      else { return service.finished(Problem.notAllowed) }
      let submissions = submitted.parts.submissions { [service] received, outcome in
        service.record(received, outcome)
      } completion: { [service] outcome in
        service.respond(to: submitted, subject, outcome, call, since: start)
      }
      if !submissions.isEmpty { submit(submissions) }
      return nil
    } catch {
      let isLate = subject == .receipt && error == .untrusted("chain_dates")
      let finding = isLate ? BodyDiagnosis.lateReceipt(call.request.body) : nil
      return service.refused(
        error, subject, finding ?? diagnosis(subject).finding(call.request.body), since: start)
    }
  }
}

extension LedgerService {
  fileprivate func refused(
    _ refusal: Refusal, _ subject: Problem.Subject, _ finding: BodyFinding? = nil,
    since start: Int64
  ) -> HTTPResponse {
    record("\(subject)", .refused(refusal), about: nil, since: start)
    return Problem.response(refusal, to: subject, finding: finding)
  }

  /// Responds to what the writer has processed. This is the only place that returns 200 for a
  /// transaction or a receipt (promise 1).
  fileprivate func respond(
    to submitted: SubmittedEvidence, _ subject: Problem.Subject, _ outcome: Outcome, _ call: Call,
    since start: Int64
  ) {
    if case .refused(let refusal) = outcome {
      return call.sender.send(refused(refusal, subject, since: start))
    }
    let streams = submitted.streams
    let about: Log.Field =
      subject == .receipt
      ? ("streams", .integer(Int64(streams.count)))
      : ("original_transaction_id", .optional(streams.first?.originalTransactionId))
    record(
      "\(subject)", outcome,
      about: [
        ("environment", .string(submitted.environment.rawValue)),
        ("bundle_id", .string(submitted.bundleId)), about,
      ], since: start)
    if let refusal = outcome.refusal {
      return call.sender.send(Problem.response(refusal, to: subject, outcome))
    }
    answerJournaled(call) { reader throws(LedgerError) in
      var rows: [RowDocument] = []
      for stream in streams.prefix(Self.maximumEntitlements) {
        if let row = try Self.row(of: stream, call.token, reader) { rows.append(row) }
      }
      return subject == .receipt
        ? Answers.receipt.json((outcome, rows, streams.count > Self.maximumEntitlements))
        : Answers.submitted.json((outcome, rows.first))
    }
  }

  /// The most entitlements of an answer.
  private static let maximumEntitlements = 100

  /// The row of what was journaled; nil for a token that may not read.
  ///
  /// - Throws: what reading it throws; `LedgerError.busy` if there is none yet.
  static func row(
    of stream: StreamKey, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerError) -> RowDocument? {
    guard token.permissions.contains(.read) else { return nil }
    let row = try reader.entitlement(
      stream.originalTransactionId, environment: stream.environment, bundleId: stream.bundleId,
      LedgerReader.Question(asOf: nil, knownAt: nil, now: Clock.now(), token: token))
    guard let row else { throw .busy }
    return row
  }
}

extension LedgerService {
  /// Logs what became of something that an app handed over, and counts a refusal.
  ///
  /// - Parameters:
  ///   - name: of the line.
  ///   - proven: what it is about; nil if it was not proven, because its content is then not
  ///     reliable.
  private func record(
    _ name: String, _ outcome: Outcome, about proven: [Log.Field]?, since start: Int64
  ) {
    let fields: [Log.Field] = [("outcome", .string(outcome.name))]
    let took = Self.took(since: start)
    if case .refused(let refusal) = outcome {
      metrics.refusals.add(refusal.code)
      refusalLog.write(
        name, status: Problem.status(of: refusal),
        fields + [("reason", .string(refusal.code)), took])
    } else if let proven {
      Log.write(.info, name, fields + proven + [took])
    }
  }

  /// How long an answer took, for its line of the log.
  ///
  /// - Parameter start: nanoseconds of the monotonic clock.
  static func took(since start: Int64) -> Log.Field {
    ("took_us", .integer((Clock.monotonicNanoseconds() - start) / 1000))
  }
}
