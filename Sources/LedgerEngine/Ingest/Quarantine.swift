import Configuration
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
