public import JournalStore

/// What was genuine and not admitted: through the door again, once the configuration was mended.
public enum Quarantine {
  public enum Admission: Sendable {
    /// On its way to the writer; `then` will be called.
    case submitted
    case absent
    case refused(Refusal)
    case unreadable(StoreError)
  }

  /// Puts one through the door. Journaled, it leaves quarantine; refused again, it stays.
  public static func admit(
    _ id: Int64, receiver: Receiver, ledger: Ledger, at now: Int64,
    then: @escaping @Sendable (Receiver.Received, Ledger.Outcome) -> Void
  ) -> Admission {
    let item: StoredQuarantine?
    do throws(StoreError) {
      item = try JournalReader.open(ledger.folder).quarantined(id: id)
    } catch {
      return .unreadable(error)
    }
    guard let item else { return .absent }
    do throws(Refusal) {
      let received = try receiver.readmit(item, at: now)
      if let refusal = received.refusal { return .refused(refusal) }
      ledger.submit(received) { then(received, $0) }
      return .submitted
    } catch {
      return .refused(error)
    }
  }
}

extension LedgerReader {
  /// Looked at for one page at most: what a token may not see must not hold a thread.
  private static let quarantineScanLimit = 1000

  /// Up to `limit` in quarantine that a token may see, from this id downwards, and the last id that
  /// was looked at; nil at the end. What does not say of which app it is, is shown to those who may
  /// see everything.
  public func quarantine(
    through id: Int64, limit: Int, for token: Configuration.ReadToken
  ) throws(Failure) -> (items: [QuarantinedEntry], next: Int64?) {
    let piece = try store { () throws(StoreError) in
      try journal.quarantined(through: id, limit: Self.quarantineScanLimit, bodies: false)
    }
    var items: [QuarantinedEntry] = []
    for item in piece {
      let shown = QuarantinedEntry(item, isRaw: false)
      if token.covers(
        environment: shown.environment ?? "", bundleId: shown.bundleId ?? "")
      {
        items.append(shown)
      }
      if items.count == limit { return (items, item.id > 1 ? item.id : nil) }
    }
    return (items, piece.count < Self.quarantineScanLimit ? nil : piece.last?.id)
  }
}
