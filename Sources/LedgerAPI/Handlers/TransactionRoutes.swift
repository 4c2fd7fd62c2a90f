import AppStore
import Configuration
public import HTTPServer
import JournalStore
import LedgerEngine
import LedgerQueries
import Observability
import Platform
import StrictJSON

/// The route that receives what an app hands over: a transaction that Apple signed.
extension LedgerHandler {
  /// A submitted transaction that the writer has processed.
  private struct Result: Sendable {
    let stream: StreamKey
    let token: Configuration.ReadToken
    let disposition: Disposition
    /// When the whole request had been read, in monotonic nanoseconds.
    let start: Int64
  }

  /// Proves a transaction and adds it to the batch that `flush` submits. The response is sent when
  /// the writer has journaled it (promise 1); this thread makes it, because it has the reader.
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
      proven += submitted.submissions { [service] received, disposition in
        service.record(received, disposition)
      } completion: { disposition in
        sender.finish(
          Result(stream: stream, token: token, disposition: disposition, start: start))
      }
      return nil
    } catch {
      return refused(error, since: start)
    }
  }

  private func refused(_ refusal: Refusal, since start: Int64) -> HTTPResponse {
    service.record(transaction: .refused(refusal), nil, since: start)
    return Problem.response(toTransaction: refusal)
  }

  /// The response to a transaction that the writer has processed. This is the only place that
  /// returns 200 for a transaction (promise 1).
  public func response(finishing result: any Sendable) -> HTTPResponse {
    if let said = result as? Said { return response(to: said) }
    if let receipt = result as? ReceiptResult { return response(receipt) }
    guard let result = result as? Result else { return refuse(status: 503) }
    let (stream, start) = (result.stream, result.start)
    switch result.disposition {
    case .accepted, .confirmed, .duplicate, .alreadyConfirmed: break
    case .refused(let refusal): return refused(refusal, since: start)
    case .unavailable(let code): return refused(.unavailable(code), since: start)
    // None of them happens to evidence of the network.
    case .conflict, .quarantined, .quarantineFull, .receiveTimeBehind, .skipped, .notFound:
      return refused(.malformed("envelope"), since: start)
    }
    service.record(transaction: result.disposition, stream, since: start)
    do throws(LedgerReader.Failure) {
      let reader = try ledgerReader()
      // What this thread has read so far may be older than the transaction.
      reader.endSnapshot()
      let row = try reader.entitlement(
        stream.originalTransactionId, environment: stream.environment, bundleId: stream.bundleId,
        LedgerReader.Question(asOf: nil, knownAt: nil, now: Clock.now(), token: result.token))
      guard let row else { throw .store(.busy) }
      return .json([
        ("outcome", .string(result.disposition.name)), ("entitlement", row.json),
      ])
    } catch {
      return Self.problem(error)
    }
  }
}

extension LedgerService {
  /// Logs what became of a transaction, and counts a refusal.
  ///
  /// - Parameter stream: nil if it was not proven, because its content is then not reliable.
  func record(transaction disposition: Disposition, _ stream: StreamKey?, since start: Int64) {
    var fields: [(String, JSONValue)] = [("outcome", .string(disposition.name))]
    let took = (
      "took_us", JSONValue.integer((Clock.monotonicNanoseconds() - start) / 1000)
    )
    if case .refused(let refusal) = disposition {
      metrics.refusals.add(refusal.code)
      fields.append(("reason", .string(refusal.code)))
      refusalLog.write("transaction", status: Problem.status(of: refusal), fields + [took])
    } else if let stream {
      fields += [
        ("environment", .string(stream.environment.rawValue)),
        ("bundle_id", .string(stream.bundleId)),
        ("original_transaction_id", .string(stream.originalTransactionId)),
      ]
      Log.write(.info, "transaction", fields + [took])
    }
  }
}

/// The route that receives what an app hands over: its receipt.
extension LedgerHandler {
  /// A submitted receipt that the writer has processed.
  struct ReceiptResult: Sendable {
    let receipt: SubmittedReceipt
    let token: Configuration.ReadToken
    let disposition: Disposition
    /// When the whole request had been read, in monotonic nanoseconds.
    let start: Int64
  }

  /// The most entitlements of an answer.
  private static let maximumEntitlements = 100

  /// Proves a receipt and submits its parts. The response is sent when the writer has journaled all
  /// of them (promise 1); this thread makes it, because it has the reader.
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
      let submissions = receipt.submissions { [service] received, disposition in
        service.record(received, disposition)
      } completion: { disposition in
        sender.finish(
          ReceiptResult(receipt: receipt, token: token, disposition: disposition, start: start))
      }
      if !submissions.isEmpty { service.ledger.submit(whole: submissions) }
      return nil
    } catch {
      return refused(receipt: error, since: start)
    }
  }

  private func refused(receipt refusal: Refusal, since start: Int64) -> HTTPResponse {
    service.record(receipt: .refused(refusal), nil, since: start)
    return Problem.response(toReceipt: refusal)
  }

  /// The response to a receipt that the writer has processed. This is the only place that returns
  /// 200 for a receipt (promise 1).
  func response(_ result: ReceiptResult) -> HTTPResponse {
    let receipt = result.receipt
    switch result.disposition {
    case .accepted, .confirmed, .duplicate, .alreadyConfirmed: break
    case .refused(let refusal): return refused(receipt: refusal, since: result.start)
    case .unavailable(let code):
      return refused(receipt: .unavailable(code), since: result.start)
    case .quarantined, .quarantineFull:
      service.record(receipt: result.disposition, receipt, since: result.start)
      let code = receipt.refusal?.code ?? "quarantined"
      return result.disposition == .quarantined
        ? Problem.response(.notAdmitted(code)) : Problem.notKept(code)
    // None of them happens to a receipt of the network.
    case .conflict, .notFound, .receiveTimeBehind, .skipped:
      return refused(receipt: .malformed("envelope"), since: result.start)
    }
    service.record(receipt: result.disposition, receipt, since: result.start)
    do throws(LedgerReader.Failure) {
      let rows = try entitlements(of: receipt, result.token)
      return .json([
        ("outcome", .string(result.disposition.name)), ("entitlements", .array(rows)),
        ("more", .boolean(receipt.streams.count > Self.maximumEntitlements)),
      ])
    } catch {
      return Self.problem(error)
    }
  }

  private func entitlements(
    of receipt: SubmittedReceipt, _ token: Configuration.ReadToken
  ) throws(LedgerReader.Failure) -> [JSONValue] {
    let reader = try ledgerReader()
    // What this thread has read so far may be older than the receipt.
    reader.endSnapshot()
    var rows: [JSONValue] = []
    for stream in receipt.streams.prefix(Self.maximumEntitlements) {
      let row = try reader.entitlement(
        stream.originalTransactionId, environment: stream.environment, bundleId: stream.bundleId,
        LedgerReader.Question(asOf: nil, knownAt: nil, now: Clock.now(), token: token))
      guard let row else { throw .store(.busy) }
      rows.append(row.json)
    }
    return rows
  }
}

extension LedgerService {
  /// Logs what became of a receipt, and counts a refusal.
  ///
  /// - Parameter receipt: nil if it was not proven, because its content is then not reliable.
  func record(receipt disposition: Disposition, _ receipt: SubmittedReceipt?, since start: Int64) {
    var fields: [(String, JSONValue)] = [("outcome", .string(disposition.name))]
    let took = (
      "took_us", JSONValue.integer((Clock.monotonicNanoseconds() - start) / 1000)
    )
    if case .refused(let refusal) = disposition {
      metrics.refusals.add(refusal.code)
      fields.append(("reason", .string(refusal.code)))
      refusalLog.write("receipt", status: Problem.status(of: refusal), fields + [took])
    } else if let receipt {
      fields += [
        ("environment", .string(receipt.environment.rawValue)),
        ("bundle_id", .string(receipt.bundleId)),
        ("streams", .integer(Int64(receipt.streams.count))),
      ]
      Log.write(.info, "receipt", fields + [took])
    }
  }
}
