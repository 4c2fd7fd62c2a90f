import AppStore
public import Platform
public import SignedData
public import Store

/// Proves app receipts. The receiver and `verify` prove them this way and no other. One per thread.
///
/// The last receipt is kept: thousands of events that follow each other may come from one.
public final class ReceiptProof {
  /// Nil for a reader that proves nothing.
  private let prover: ReceiptProver?
  private var lastProven: SignedMessage?
  private var lastRead: ReceiptBody?

  /// - Parameter roots: nil if receipts are to be read without a proof, because they were proven
  ///   before they were stored.
  /// - Throws: `LedgerError` if a trust root is not a certificate.
  public init(_ roots: TrustRoots?) throws(LedgerError) {
    prover = try mapError(NotificationProof.unusableRoot) { () throws(ProofFailure) in
      try roots.map { (roots) throws(ProofFailure) in try ReceiptProver(roots: roots) }
    }
  }

  /// Proves the signature of a receipt. Its certificates must be valid at the date of creation that
  /// it claims, which the signature covers; at `now`, milliseconds since 1970, if it claims none.
  ///
  /// - Throws: `Refusal.malformed` for bytes that are no receipt, or one of more than
  ///   `AppReceipt.maximumRecords` records; `Refusal.untrusted` if no root of ours leads to the
  ///   signature.
  public func prove(_ der: [UInt8], at now: Int64) throws(Refusal) -> SignedMessage {
    if let lastProven, lastProven.der == der { return lastProven }
    let message = try mapError(Self.refusal, try SignedMessage(parsing: der))
    guard AppReceipt.recordCount(message.content) ?? 0 <= AppReceipt.maximumRecords else {
      throw .malformed("receipt_records")
    }
    let date = AppReceipt.claimedCreationDate(message.content) ?? now
    try mapError(Self.refusal) { () throws(ProofFailure) in
      try prover?.prove(message, at: date)
    }
    lastProven = message
    return message
  }

  /// Reads a proven receipt.
  ///
  /// - Throws: `Refusal.notAdmitted` if its attributes have another form.
  func body(of message: SignedMessage) throws(Refusal) -> ReceiptBody {
    if let lastRead, lastRead.der == message.der { return lastRead }
    let content = try mapError(Refusal.init, try AppReceipt(message.content))
    let body = ReceiptBody(der: message.der, content: content)
    lastRead = body
    return body
  }

  /// Proves and decodes what an event of source `receipt` says.
  ///
  /// - Parameters:
  ///   - originalTransactionId: which of the receipt's the event is about.
  ///   - now: milliseconds since 1970, for a receipt that claims no date.
  /// - Throws: as `prove` and `body`; `Refusal.notAdmitted` if its environment is not known, or it
  ///   does not name the id.
  public func notification(
    _ der: [UInt8], of originalTransactionId: String?, at now: Int64
  ) throws(Refusal) -> DecodedNotification {
    try DecodedNotification(
      try body(of: try prove(der, at: now)), of: originalTransactionId ?? "")
  }

  /// Why a receipt is not proven; nil if it is.
  ///
  /// - Parameter now: milliseconds since 1970, for a receipt that claims no date.
  public func refusal(of der: [UInt8], at now: Int64) -> Refusal? {
    do throws(Refusal) {
      _ = try body(of: try prove(der, at: now))
      return nil
    } catch {
      return error
    }
  }

  /// When the first certificate of a receipt ended and when it says that it was made, where that is
  /// later; milliseconds since 1970. Nothing of it need be proven.
  public static func lateness(of der: [UInt8]) -> (ended: Int64, made: Int64)? {
    guard let message = try? SignedMessage(parsing: der), let ended = message.certificatesEnd,
      let made = AppReceipt.claimedCreationDate(message.content), made > ended
    else { return nil }
    return (ended, made)
  }

  private static func refusal(_ failure: ProofFailure) -> Refusal {
    switch failure {
    case .malformed(let code): .malformed(code)
    case .untrusted(let code): .untrusted(code)
    }
  }
}
