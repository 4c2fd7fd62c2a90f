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
    bodies: [.appReceipt], bodyLimit: { _ in SubmittedReceipt.maximumBytes },
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
  /// A submitted transaction that the writer has processed.
  fileprivate struct Result: Sendable {
    let stream: StreamKey
    let outcome: Outcome
    /// When the whole request had been read, in monotonic nanoseconds.
    let start: Int64
  }

  /// Proves a transaction and adds it to the batch that `flush` submits. The response is sent when
  /// the writer has journaled it (promise 1).
  fileprivate func submitTransaction(_ call: Call) -> HTTPResponse? {
    let token = call.token
    let start = Clock.monotonicNanoseconds()
    defer { recordChainCache() }
    do throws(Refusal) {
      guard let body = try? JSONDocument(parsing: call.request.body, within: .unproven) else {
        throw .malformed("json")
      }
      let submitted = try receiver.receive(
        submitted: body.root, at: Clock.now(), from: token.name)
      let stream = submitted.stream
      guard token.covers(environment: stream.environment, bundleId: stream.bundleId) else {
        record(Problem.notAllowed)
        return Problem.notAllowed
      }
      proven += submitted.evidence.submissions { [service] received, outcome in
        service.record(received, outcome)
      } completion: { [service] outcome in
        service.respond(
          to: Result(stream: stream, outcome: outcome, start: start), call)
      }
      return nil
    } catch {
      return service.refused(
        error, diagnosis(.transaction).finding(call.request.body), since: start)
    }
  }
}

extension LedgerService {
  fileprivate func refused(
    _ refusal: Refusal, _ finding: BodyFinding? = nil, since start: Int64
  ) -> HTTPResponse {
    record("transaction", .refused(refusal), about: nil, since: start)
    return Problem.response(refusal, to: .transaction, finding: finding)
  }

  /// Responds to a transaction that the writer has processed. This is the only place that returns
  /// 200 for a transaction (promise 1).
  fileprivate func respond(to result: LedgerHandler.Result, _ call: Call) {
    let (stream, start) = (result.stream, result.start)
    if let refusal = result.outcome.refusal {
      return call.sender.send(refused(refusal, since: start))
    }
    record(
      "transaction", result.outcome,
      about: [
        ("environment", .string(stream.environment.rawValue)),
        ("bundle_id", .string(stream.bundleId)),
        ("original_transaction_id", .string(stream.originalTransactionId)),
      ], since: start)
    answerJournaled(call) { reader throws(LedgerError) in
      Answers.submitted.json((result.outcome, try Self.row(of: stream, call.token, reader)))
    }
  }

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

extension LedgerHandler {
  /// A submitted receipt that the writer has processed.
  fileprivate struct ReceiptResult: Sendable {
    let receipt: SubmittedReceipt
    let outcome: Outcome
    /// When the whole request had been read, in monotonic nanoseconds.
    let start: Int64
  }

  /// Proves a receipt and submits its parts. The response is sent when the writer has journaled all
  /// of them (promise 1).
  fileprivate func submitReceipt(_ call: Call) -> HTTPResponse? {
    let token = call.token
    let start = Clock.monotonicNanoseconds()
    do throws(Refusal) {
      guard let body = try? JSONDocument(parsing: call.request.body, within: .unproven) else {
        throw .malformed("json")
      }
      let receipt = try receiver.receive(submittedReceipt: body.root, at: Clock.now())
      guard token.covers(environment: receipt.environment, bundleId: receipt.bundleId) else {
        record(Problem.notAllowed)
        return Problem.notAllowed
      }
      let submissions = receipt.submissions { [service] received, outcome in
        service.record(received, outcome)
      } completion: { [service] outcome in
        service.respond(
          to: ReceiptResult(receipt: receipt, outcome: outcome, start: start), call)
      }
      if !submissions.isEmpty { service.ledger.submit(whole: submissions) }
      return nil
    } catch {
      let isLate = error == .untrusted("chain_dates")
      let finding = isLate ? BodyDiagnosis.lateReceipt(call.request.body) : nil
      return service.refused(
        receipt: error, finding ?? diagnosis(.receipt).finding(call.request.body), since: start)
    }
  }
}

extension LedgerService {
  fileprivate func refused(
    receipt refusal: Refusal, _ finding: BodyFinding? = nil, since start: Int64
  ) -> HTTPResponse {
    record("receipt", .refused(refusal), about: nil, since: start)
    return Problem.response(refusal, to: .receipt, finding: finding)
  }

  /// Responds to a receipt that the writer has processed. This is the only place that returns 200
  /// for a receipt (promise 1).
  fileprivate func respond(to result: LedgerHandler.ReceiptResult, _ call: Call) {
    let (receipt, start) = (result.receipt, result.start)
    if case .refused(let refusal) = result.outcome {
      return call.sender.send(refused(receipt: refusal, since: start))
    }
    record(
      "receipt", result.outcome,
      about: [
        ("environment", .string(receipt.environment.rawValue)),
        ("bundle_id", .string(receipt.bundleId)),
        ("streams", .integer(Int64(receipt.streams.count))),
      ], since: start)
    if let refusal = result.outcome.refusal {
      return call.sender.send(Problem.response(refusal, to: .receipt, result.outcome))
    }
    answerJournaled(call) { reader throws(LedgerError) in
      let rows = try Self.entitlements(of: receipt, call.token, reader)
      return Answers.receipt.json(
        (result.outcome, rows, receipt.streams.count > Self.maximumEntitlements))
    }
  }

  /// The most entitlements of an answer.
  private static let maximumEntitlements = 100

  private static func entitlements(
    of receipt: SubmittedReceipt, _ token: Configuration.ReadToken, _ reader: LedgerReader
  ) throws(LedgerError) -> [RowDocument] {
    var rows: [RowDocument] = []
    for stream in receipt.streams.prefix(maximumEntitlements) {
      if let row = try row(of: stream, token, reader) { rows.append(row) }
    }
    return rows
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
