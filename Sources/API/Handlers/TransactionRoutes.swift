import AppStore
import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// The route that receives what an app hands over: a transaction that Apple signed.
extension LedgerHandler {
  /// A submitted transaction that the writer has processed.
  fileprivate struct Result: Sendable {
    let stream: StreamKey
    let token: Configuration.ReadToken
    let outcome: Outcome
    /// When the whole request had been read, in monotonic nanoseconds.
    let start: Int64
  }

  /// Proves a transaction and adds it to the batch that `flush` submits. The response is sent when
  /// the writer has journaled it (promise 1).
  func submit(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    let start = Clock.monotonicNanoseconds()
    defer { recordChainCache() }
    do throws(Refusal) {
      guard let body = try? JSONDocument(parsing: request.body, within: .unproven) else {
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
          to: Result(stream: stream, token: token, outcome: outcome, start: start),
          through: sender)
      }
      return nil
    } catch {
      return service.refused(
        error, diagnosis(.transaction).finding(request.body), since: start)
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
  fileprivate func respond(to result: LedgerHandler.Result, through sender: ResponseSender) {
    let (stream, start) = (result.stream, result.start)
    if let refusal = result.outcome.refusal {
      return sender.send(refused(refusal, since: start))
    }
    record(
      "transaction", result.outcome,
      about: [
        ("environment", .string(stream.environment.rawValue)),
        ("bundle_id", .string(stream.bundleId)),
        ("original_transaction_id", .string(stream.originalTransactionId)),
      ], since: start)
    answerJournaled(result.token, through: sender) { reader throws(LedgerError) in
      Answers.submitted.json((result.outcome, try Self.row(of: stream, result.token, reader)))
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

  /// Answers what the writer has journaled, with the rows that it is about.
  func answerJournaled(
    _ token: Configuration.ReadToken, through sender: ResponseSender,
    _ read: @escaping @Sendable (LedgerReader) throws(LedgerError) -> JSONValue
  ) {
    let refusal = answer(.short, nil, token, isForced: true, through: sender) {
      reader throws(LedgerError) in
      .json(try read(reader))
    }
    if let refusal { sender.send(refusal) }
  }
}

/// The route that receives what an app hands over: its receipt.
extension LedgerHandler {
  /// A submitted receipt that the writer has processed.
  fileprivate struct ReceiptResult: Sendable {
    let receipt: SubmittedReceipt
    let token: Configuration.ReadToken
    let outcome: Outcome
    /// When the whole request had been read, in monotonic nanoseconds.
    let start: Int64
  }

  /// Proves a receipt and submits its parts. The response is sent when the writer has journaled all
  /// of them (promise 1).
  func submitReceipt(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, through sender: ResponseSender
  ) -> HTTPResponse? {
    guard let token = admitted.token else { return Problem.unauthorized() }
    let start = Clock.monotonicNanoseconds()
    do throws(Refusal) {
      guard let body = try? JSONDocument(parsing: request.body, within: .unproven) else {
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
          to: ReceiptResult(receipt: receipt, token: token, outcome: outcome, start: start),
          through: sender)
      }
      if !submissions.isEmpty { service.ledger.submit(whole: submissions) }
      return nil
    } catch {
      let isLate = error == .untrusted("chain_dates")
      let finding = isLate ? BodyDiagnosis.lateReceipt(request.body) : nil
      return service.refused(
        receipt: error, finding ?? diagnosis(.receipt).finding(request.body), since: start)
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
  fileprivate func respond(to result: LedgerHandler.ReceiptResult, through sender: ResponseSender) {
    let (receipt, start) = (result.receipt, result.start)
    if case .refused(let refusal) = result.outcome {
      return sender.send(refused(receipt: refusal, since: start))
    }
    record(
      "receipt", result.outcome,
      about: [
        ("environment", .string(receipt.environment.rawValue)),
        ("bundle_id", .string(receipt.bundleId)),
        ("streams", .integer(Int64(receipt.streams.count))),
      ], since: start)
    if let refusal = result.outcome.refusal {
      return sender.send(Problem.response(refusal, to: .receipt, result.outcome))
    }
    answerJournaled(result.token, through: sender) { reader throws(LedgerError) in
      let rows = try Self.entitlements(of: receipt, result.token, reader)
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
