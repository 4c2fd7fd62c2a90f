import Ledger
import Platform

/// What `GET /readyz` answers by: whether notifications are accepted now.
extension LedgerService {
  /// Every reason that `unreadyReason` gives.
  static let unreadyReasons = [
    "disk_floor", "disk_full", "journal", "journal_stalled", "shared_journal", "shutting_down",
  ]

  /// Why the daemon is not ready to accept notifications, as the code of a refusal; nil if it is.
  ///
  /// - Parameter minimumFree: the free disk space, in bytes, that is required.
  func unreadyReason(minimumFree: Int64) -> String? {
    if isDraining { return "shutting_down" }
    if ledger.failure != nil { return "journal" }
    if let copy = ledger.copy, !copy.isReady { return "shared_journal" }
    if ledger.meter.isFull { return "disk_full" }
    if isStalled { return "journal_stalled" }
    if let disk = readings.disk, disk.free < minimumFree { return "disk_floor" }
    return nil
  }

  /// Whether committing a batch takes so long that the disk is taken to be stalled.
  var isStalled: Bool { ledger.meter.stalledSeconds >= 10 }
}
