import LedgerEngine
import Observability
import Platform

/// What the daemon counts, and how `/metrics` writes it.
///
/// Labels are closed sets: reasons, statuses, documented types, configured apps. What is counted
/// for every notification takes a short lock and no text.
final class Metrics: Sendable {
  let notifications = NotificationCounts()
  let refusals = CounterFamily<String>(maximum: 300, other: "other")
  let httpRefusals = CounterFamily<Int>(maximum: 100, other: 0)
  let unknownTypes = Counter()
  let signedAhead = Counter()
  let connections = Counter()
  let chainHits = Counter()
  let chainMisses = Counter()
  let reloads = CounterFamily<String>(maximum: 2, other: "refused")
  /// Seconds from the whole request to its answer.
  let answer = Histogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
  /// Seconds from Apple's signing to our receiving, of what is new.
  let delay = Histogram([1, 5, 15, 60, 300, 3600, 21_600, 86_400, 259_200])
  private let startedAt = Clock.now()

  /// One event that was journaled just now.
  func observe(delay milliseconds: Int64) { delay.observe(Double(max(0, milliseconds)) / 1000) }

  /// - Parameters:
  ///   - folded: the last seq in the live rows; nil where there are none.
  ///   - versions: of the program and its parts.
  func text(
    _ ledger: Ledger, _ seen: ResourceSampler.Readings, folded: Int64?, versions: [(String, String)]
  ) -> String {
    var page = PrometheusText()
    page.family("subledger_build_info", .gauge, "Versions of the program and its parts.")
    page.sample(
      "subledger_build_info", versions.map { (name: $0.0, value: $0.1) }, Int64(1))
    page.family("subledger_start_time_seconds", .gauge, "When the daemon started, Unix time.")
    page.sample("subledger_start_time_seconds", [], Double(startedAt) / 1000)
    writeNotifications(&page, ledger)
    writeDoor(&page)
    writeJournal(&page, ledger, seen)
    writeRowCounts(&page, ledger, seen, folded)
    return page.text
  }

  private func writeNotifications(_ page: inout PrometheusText, _ ledger: Ledger) {
    let name = "subledger_notifications_total"
    page.family(
      name, .counter,
      "Notifications that were proven, by app, environment, version of Apple's format, type and "
        + "outcome.")
    for sample in notifications.samples() { page.sample(name, sample.labels, sample.count) }
    page.single(
      "subledger_duplicates_total", .counter, "Notifications that were journaled already.",
      notifications.count(.duplicate))
    page.single(
      "subledger_late_events_total", .counter,
      "Events signed before something of their stream that was folded already.",
      ledger.meter.late.value)
    page.single(
      "subledger_unknown_types_total", .counter, "Events of a type this program has no rule for.",
      unknownTypes.value)
    page.single(
      "subledger_signed_ahead_total", .counter,
      "Events signed ahead of this machine's clock by more than five minutes.", signedAhead.value)
    page.histogram(
      "subledger_arrival_delay_seconds", "From Apple's signing to our receiving, of new events.",
      delay)
    page.histogram(
      "subledger_answer_seconds", "From the whole notification to its answer.", answer)
    page.histogram(
      "subledger_batch_notifications", "Notifications committed together.", ledger.meter.batches)
  }

  private func writeDoor(_ page: inout PrometheusText) {
    page.family("subledger_refusals_total", .counter, "Notifications refused, by reason.")
    for (reason, count) in refusals.samples {
      page.sample("subledger_refusals_total", [(name: "reason", value: reason)], count)
    }
    page.family(
      "subledger_http_refusals_total", .counter,
      "Requests refused before they were read to their end, by status.")
    for (status, count) in httpRefusals.samples {
      page.sample(
        "subledger_http_refusals_total", [(name: "status", value: String(status))], count)
    }
    page.single(
      "subledger_chain_cache_hits_total", .counter,
      "Signatures whose certificate chain was proven before.", chainHits.value)
    page.single(
      "subledger_chain_cache_misses_total", .counter,
      "Signatures whose certificate chain had to be proven.", chainMisses.value)
    page.single(
      "subledger_connections_open", .gauge, "Connections that are open.", connections.value)
    page.family("subledger_reloads_total", .counter, "Reloads of the configuration, by outcome.")
    for (outcome, count) in reloads.samples {
      page.sample("subledger_reloads_total", [(name: "outcome", value: outcome)], count)
    }
    page.single(
      "subledger_log_lines_lost_total", .counter,
      "Log lines dropped because nobody took them.", Log.lost)
  }

  private func writeJournal(
    _ page: inout PrometheusText, _ ledger: Ledger, _ seen: ResourceSampler.Readings
  ) {
    page.single("subledger_journal_seq", .gauge, "The newest event's place.", ledger.seq)
    page.single(
      "subledger_journal_bytes", .gauge, "Size of journal.sqlite.", seen.journalBytes)
    page.single(
      "subledger_journal_wal_bytes", .gauge, "Size of the journal's write-ahead log.",
      seen.walBytes)
    page.single(
      "subledger_journal_failed", .gauge,
      "1 once the journal may no longer be written: the daemon ends.",
      ledger.failure == nil ? 0 : 1)
    page.single(
      "subledger_waiting", .gauge, "Notifications that wait for the writer.",
      Int64(ledger.waiting))
    guard let disk = seen.disk else { return }
    page.single(
      "subledger_disk_free_bytes", .gauge, "Room left on the data folder's disk.", disk.free)
    page.single(
      "subledger_disk_size_bytes", .gauge, "Size of the data folder's disk.", disk.total)
  }

  private func writeRowCounts(
    _ page: inout PrometheusText, _ ledger: Ledger, _ seen: ResourceSampler.Readings,
    _ folded: Int64?
  ) {
    page.single(
      "subledger_rows_live", .gauge, "1 where rows answer; 0 while they are being built.",
      folded == nil ? 0 : 1)
    page.single(
      "subledger_projection_lag_events", .gauge,
      "Events in the journal that are not in the live rows.",
      max(0, ledger.seq - (folded ?? 0)))
    guard let counts = seen.rowCounts else { return }
    page.family(
      "subledger_rows", .gauge,
      "Live rows by environment and status, as of subledger_rows_age_seconds ago.")
    for row in counts.rows {
      page.sample(
        "subledger_rows",
        [(name: "environment", value: row.environment), (name: "status", value: row.status)],
        row.count)
    }
    page.single(
      "subledger_rows_broken", .gauge, "Live rows whose fold failed, counted with them.",
      counts.broken)
    page.family("subledger_rows_age_seconds", .gauge, "How long ago rows were counted.")
    page.sample("subledger_rows_age_seconds", [], Double(Clock.now() - counts.at) / 1000)
  }
}
