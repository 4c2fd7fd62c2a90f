public import JournalStore

/// Admits quarantined notifications after the configuration was corrected.
public enum Quarantine {
  /// What `admit` did with an item.
  public enum Admission: Sendable {
    /// Handed to the writer; `completion` will be called.
    case submitted
    /// Quarantine has no item of this id.
    case absent
    /// Refused again; it stays in quarantine.
    case refused(Refusal)
    /// The journal cannot be read.
    case unreadable(StoreError)
  }

  /// Receives a quarantined notification again. It leaves quarantine when it is journaled.
  ///
  /// - Parameters:
  ///   - now: our clock, milliseconds since 1970; becomes the receive time.
  ///   - completion: called on the writer's thread once it is synced.
  public static func admit(
    _ id: Int64, receiver: Receiver, ledger: Ledger, at now: Int64,
    completion: @escaping @Sendable (Receiver.Received, Disposition) -> Void
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
      ledger.submit(received) { completion(received, $0) }
      return .submitted
    } catch {
      return .refused(error)
    }
  }
}
