public import Platform
public import Store

/// Admits quarantined notifications after the configuration was corrected.
public enum QuarantineAdmission {
  /// The most notifications that are admitted or dropped at a time.
  public static let batchLimit = 256

  /// Receives quarantined notifications again. One leaves quarantine when the journal has it, or
  /// when it is evidence that is held beside the journal.
  ///
  /// - Parameters:
  ///   - ids: at most `batchLimit`.
  ///   - origin: the app that the owner says they are of, where they name none.
  ///   - now: our clock, milliseconds since 1970; becomes the receive time.
  ///   - onOutcome: called for each that was received, on the writer's thread.
  ///   - completion: called once, with what became of each id once that is synced: `skipped` for
  ///     one that is not in quarantine, `refused` and `noPurchases` for one that stays there.
  /// - Throws: what SQLite reports about the journal; nothing was submitted then.
  public static func admit(
    _ ids: [Int64], from origin: Receiver.EvidenceOrigin? = nil, receiver: Receiver,
    ledger: Ledger, at now: Int64,
    onOutcome: @escaping @Sendable (Receiver.Received, Outcome) -> Void = { _, _ in },
    completion: @escaping @Sendable ([Outcome]) -> Void
  ) throws(LedgerError) {
    let reader = try JournalReader.open(ledger.folder)
    var outcomes = [Outcome](repeating: .skipped, count: ids.count)
    var submissions: [(index: Int, received: Receiver.Received)] = []
    for (index, id) in ids.enumerated() {
      guard let item = try reader.quarantined(id: id) else { continue }
      do throws(Refusal) {
        let parts = try receiver.readmit(item, from: origin, at: now)
        if let refusal = parts.lazy.compactMap(\.refusal).first { throw refusal }
        if parts.isEmpty { outcomes[index] = .noPurchases }
        submissions += parts.map { (index, $0) }
      } catch {
        outcomes[index] = .refused(error)
      }
    }
    BatchReceive.submit(
      submissions, of: outcomes, to: ledger, onOutcome: onOutcome,
      completion: completion)
  }
}
