import HTTPServer
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// How requests are answered from files: by the threads of the pool, and after a wait.
extension LedgerService {
  /// Answers a read of rows or customers, after it has waited for what it asks to be there.
  ///
  /// - Parameters:
  ///   - length: what the answer may cost.
  ///   - minSeq: the event that the rows must have; 0 if none was asked for.
  ///   - response: makes the answer; nil from a short read if it takes long.
  /// - Returns: the refusal of a read; nil if the sender sends the answer.
  func read(
    _ call: Call, _ length: ReaderPool.Length, minSeq: Int64,
    _ response:
      @escaping @Sendable (_ reader: LedgerReader, _ isShort: Bool) throws(LedgerError)
      -> HTTPResponse?
  ) -> HTTPResponse? {
    let answerLong = { @Sendable [self] in
      self.answer(.long, call) { reader throws(LedgerError) in try response(reader, false) }
    }
    let answer = { @Sendable [self] in
      guard length == .short else { return answerLong() }
      return self.answer(.short, call) { reader throws(LedgerError) in
        try response(reader, true) ?? answerLong()
      }
    }
    let deadline = ReadBarrier.deadline
    let token = call.token
    let checked = { @Sendable [self] in
      guard minSeq > 0, !token.coversEverything else { return answer() }
      return self.answer(.short, call) { [self] reader throws(LedgerError) in
        let app = try reader.journal.app(of: minSeq)
        if token.covers(environment: app?.environment, bundleId: app?.bundleId) { return answer() }
        // As for an event that is still to come: how many others have must not show.
        return never(call, before: deadline)
      }
    }
    return isWaiting(for: minSeq, call, until: deadline, checked) ? nil : checked()
  }

  private static let behind = Problem.response(.unavailable("behind"))

  /// Refuses a read when the longest wait is over.
  ///
  /// - Returns: the refusal if too many wait.
  private func never(_ call: Call, before deadline: Deadline) -> HTTPResponse? {
    let isWaiting = barrier.wait(forSeq: .max, of: call.token.name, until: deadline) { [self] _ in
      call.sender.send(finished(Self.behind))
    }
    return isWaiting ? nil : Self.behind
  }

  /// Whether a read has to wait, and waits for it then: for the event that `min_seq` names, or for
  /// all that the shared journal has, where reads are configured to be fresh.
  ///
  /// - Returns: false if the read can be answered at once.
  private func isWaiting(
    for seq: Int64, _ call: Call, until deadline: Deadline,
    _ answer: @escaping @Sendable () -> HTTPResponse?
  ) -> Bool {
    let isFresh = ledger.readsAreFresh
    // Most reads ask for no event, and look at nothing that the writer locks.
    guard isFresh || seq > 0 && seq > ledger.foldedHead.seq else { return false }
    let proceed = { @Sendable [self] (isReached: Bool) in
      let refusal = isReached ? answer() : finished(Self.behind)
      if let refusal { call.sender.send(refusal) }
    }
    let (barrier, owner) = (barrier, call.token.name)
    let waitForSeq = { @Sendable (isFresh: Bool) in
      let isWaiting =
        isFresh && barrier.wait(forSeq: seq, of: owner, until: deadline, proceed)
      if !isWaiting { proceed(false) }
    }
    guard isFresh else {
      waitForSeq(true)
      return true
    }
    if !barrier.waitUntilFresh(of: owner, seq > 0 ? waitForSeq : proceed) { proceed(false) }
    return true
  }

  /// Answers a request on a thread of the pool.
  ///
  /// - Parameters:
  ///   - size: bytes that the request keeps in memory until then.
  ///   - isForced: whether it is answered even if many wait: what it is about is journaled.
  ///   - read: makes the response; nil if the sender sends it later.
  /// - Returns: the refusal if too many wait; nil if the sender sends the answer.
  func answer(
    _ length: ReaderPool.Length, _ call: Call, bytes size: Int = 0, isForced: Bool = false,
    _ read: @escaping @Sendable (LedgerReader) throws(LedgerError) -> HTTPResponse?
  ) -> HTTPResponse? {
    let (sender, route) = (call.sender, isForced ? nil : call.route)
    let isQueued = readers.enqueue(length, of: call.token.name, bytes: size, isForced: isForced) {
      [self] reader in
      guard isForced || !sender.isAbandoned else { return }
      do throws(LedgerError) {
        guard let reader else { throw .busy }
        if let response = try read(reader) { sender.send(finished(response)) }
      } catch {
        sender.send(finished(LedgerHandler.problem(error, route, reader?.limit)))
      }
    }
    return isQueued ? nil : finished(Problem.response(.unavailable("overload")))
  }

  /// Answers what the writer has journaled, with the rows that it is about.
  func answerJournaled(
    _ call: Call, _ read: @escaping @Sendable (LedgerReader) throws(LedgerError) -> JSONValue
  ) {
    let refusal = answer(.short, call, isForced: true) { reader throws(LedgerError) in
      .json(try read(reader))
    }
    if let refusal { call.sender.send(refusal) }
  }

  /// An answer to a read as it is sent. A refusal is counted; a 404 is a usual answer to a usual
  /// question, and is not logged.
  func finished(_ response: HTTPResponse) -> HTTPResponse {
    if response.status >= 400 { record(response, isLogged: response.status != 404) }
    return marked(response)
  }
}

extension LedgerHandler {
  /// Logs a failure of the store, or a read that was too long, and returns the response to it.
  ///
  /// - Parameters:
  ///   - route: that it answers; nil: what was journaled.
  ///   - limit: of the read; it knows why one failed that had to end.
  static func problem(
    _ found: LedgerError, _ route: Route?, _ limit: WorkLimit?
  ) -> HTTPResponse {
    let error = found.kind == .temporary ? limit?.reason ?? found : found
    switch error.code {
    case .notReady, .ambiguous, .stopped: break
    case .tooLong:
      StoreErrors.record(
        .reads, "read_cut", error, [("route", .optional(route?.title))])
    default:
      StoreErrors.record(.reads, "read", error, [("code", .string("store"))])
    }
    return Problem.response(to: error)
  }
}
