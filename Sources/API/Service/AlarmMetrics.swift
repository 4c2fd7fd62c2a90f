import Entitlements
import Ledger
import Platform
import Queries

/// What an operator alarms on, beside counts and sizes. Every label value that is known beforehand
/// has a sample from the start, so that `increase` sees the first.
extension LedgerService {
  /// Reasons of the quarantine that need no defect of a notification. The others have a sample once
  /// they occur.
  private static let quarantineReasons = [
    "conflict", "other_app", "other_app_apple_id", "other_environment",
  ]

  func writeAlarms(_ page: inout PrometheusText) {
    writeReadiness(&page)
    page.single(
      "subledger_disk_full", .gauge,
      "1 while notifications are refused because the disk is full, until there was room for ten "
        + "seconds.", ledger.meter.isDiskAlarmOn ? 1 : 0)
    page.family(
      "subledger_store_errors_total", .counter,
      "Errors of the files in the data folder, by the part that met them.")
    for sample in StoreErrors.samples {
      page.sample(
        "subledger_store_errors_total", [(name: "part", value: sample.part.rawValue)],
        sample.count)
    }
    page.family(
      "subledger_owner_faults_total", .counter,
      "Refused notifications that a mistake in the configuration can be the cause of, by reason.")
    for sample in ownerFaults.samples {
      page.sample(
        "subledger_owner_faults_total", [(name: "reason", value: sample.reason)], sample.count)
    }
    writeQuarantine(&page)
    page.single(
      "subledger_mapping_refused", .gauge,
      "1 while the configured mapping of products to entitlements is not in force for a name, "
        + "because more customers would lose it than entitlementLossLimit allows.",
      mappingStatus?.refused.isEmpty ?? true ? 0 : 1)
    page.single(
      "subledger_mapping_differs", .gauge,
      "Apps and environments whose mapping of products to entitlements in force is not the one "
        + "that is configured here.", Int64(mappingStatus?.others.count ?? 0))
    page.single(
      "subledger_mappings_total", .counter,
      "How often a changed mapping of products to entitlements took effect.",
      mappingStatus?.journaled ?? 0)
    let catalog = configuration.entitlements
    page.single(
      "subledger_unmapped_products", .gauge,
      "Products that were sold and to which the mapping in force gives no entitlement, as of the "
        + "last count; 0 if none is configured.",
      catalog.isEmpty ? 0 : Int64(rows.unmappedCount(configured: catalog)))
  }

  private func writeReadiness(_ page: inout PrometheusText) {
    let reason = unreadyReason(minimumFree: Int64(configuration.limits.diskBytes))
    page.single(
      "subledger_ready", .gauge, "1 if notifications can be taken, as /readyz says.",
      reason == nil ? 1 : 0)
    page.family(
      "subledger_unready", .gauge, "1 for the reason that /readyz gives, 0 for the others.")
    for other in Self.unreadyReasons {
      page.sample(
        "subledger_unready", [(name: "reason", value: other)], Int64(other == reason ? 1 : 0))
    }
  }

  private func writeQuarantine(_ page: inout PrometheusText) {
    var counts = Dictionary(uniqueKeysWithValues: Self.quarantineReasons.map { ($0, Int64(0)) })
    for (reason, count) in rows.quarantined { counts[reason] = count }
    page.family(
      "subledger_quarantined", .gauge,
      "Notifications in quarantine, by reason, as of the last count.")
    for (reason, count) in counts.sorted(by: { $0.key < $1.key }) {
      page.sample("subledger_quarantined", [(name: "reason", value: reason)], count)
    }
  }
}
