import AppStore
import Delivery
import Entitlements
import Ledger
import Platform
import Queries
import Store

/// The text of `GET /metrics`. Names, labels and label values are part of the contract.
extension Metrics {
  /// - Parameters:
  ///   - token: what is shown: only counts of its apps and environments if it is narrowed to some.
  ///   - service: whose ledger, counts and times are shown.
  ///   - readings: sizes, as sampled last.
  ///   - folded: the last seq in the live projection; nil if there is none.
  ///   - versions: the versions of the program and its parts, by name.
  ///   - recovery: what the daemon recovered by itself; nil if it asks about no app.
  ///   - delivery: who sends changes to others.
  func text(
    for token: Configuration.ReadToken, _ service: LedgerService, _ readings: ResourceReadings,
    folded: Int64?, versions: [(String, String)], recovery: RecoveryStatus?,
    delivery: DeliveryService?
  ) -> String {
    let ledger = service.ledger
    var page = PrometheusText()
    page.family("subledger_build_info", .gauge, "Versions of the program and its parts.")
    page.sample(
      "subledger_build_info", versions.map { (name: $0.0, value: $0.1) }, Int64(1))
    writeNotifications(&page, token)
    service.posted.write(&page, service.configuration, token)
    // What is counted over all apps would tell of those that the token does not cover.
    if token.coversEverything {
      page.family("subledger_start_time_seconds", .gauge, "When the daemon started, as Unix time.")
      page.sample("subledger_start_time_seconds", [], Double(startedAt) / 1000)
      writeEvents(&page, ledger)
      writeIngest(&page)
      page.single(
        "subledger_refusals_left_out_total", .counter,
        "Refusals above ten a second of their status, which the log only counts.",
        service.refusalLog.leftOut.value)
      service.writeAlarms(&page)
      service.writeRefunds(&page)
      writeJournal(&page, ledger, readings)
      writeProjection(&page, ledger, folded)
      recovery?.write(&page)
      delivery?.write(&page)
    }
    let counts = service.rows.last
    writeRowCounts(&page, counts, token)
    if counts != nil {
      writeConfirmations(
        &page,
        service.rows.confirmations.filter {
          token.covers(environment: $0.key.environment, bundleId: $0.key.bundleId)
        })
    }
    return page.text
  }

  private func writeNotifications(_ page: inout PrometheusText, _ token: Configuration.ReadToken) {
    let name = "subledger_notifications_total"
    let samples = notifications.samples(for: token)
    page.family(
      name, .counter,
      "Notifications that were proven genuine, by app, environment, version of Apple's format, "
        + "type and outcome.")
    for sample in samples { page.sample(name, sample.labels, sample.count) }
    let duplicates = samples.filter { $0.labels.contains { $0 == ("outcome", "duplicate") } }
    page.single(
      "subledger_duplicates_total", .counter, "Notifications that were already in the journal.",
      duplicates.reduce(0) { $0 + $1.count })
  }

  private func writeEvents(_ page: inout PrometheusText, _ ledger: Ledger) {
    page.single(
      "subledger_late_events_total", .counter,
      "Events signed before an event of their stream that was already folded.",
      ledger.meter.late.value)
    page.single(
      "subledger_unknown_types_total", .counter,
      "Events of a type for which this program has no rule.",
      unknownTypes.value)
    page.single(
      "subledger_signed_ahead_total", .counter,
      "Events with a signed date more than five minutes ahead of this machine's clock.",
      signedAhead.value)
    page.histogram(
      "subledger_arrival_delay_seconds", "Time from Apple's signing to receipt, of new events.",
      delay)
    page.histogram(
      "subledger_answer_seconds", "Time from the end of a notification's body to its response.",
      answer)
    page.histogram(
      "subledger_batch_notifications", "Notifications committed in one transaction.",
      ledger.meter.batches)
  }

  private func writeIngest(_ page: inout PrometheusText) {
    page.family("subledger_refusals_total", .counter, "Notifications refused, by reason.")
    for (reason, count) in refusals.samples {
      page.sample("subledger_refusals_total", [(name: "reason", value: reason)], count)
    }
    page.family(
      "subledger_http_refusals_total", .counter,
      "Requests refused while they were read, and refused reads, by status.")
    for (status, count) in httpRefusals.samples {
      page.sample(
        "subledger_http_refusals_total", [(name: "status", value: String(status))], count)
    }
    page.single(
      "subledger_chain_cache_hits_total", .counter,
      "Signatures whose certificate chain was already proven.", chainHits.value)
    page.single(
      "subledger_chain_cache_misses_total", .counter,
      "Signatures whose certificate chain had to be proven.", chainMisses.value)
    page.single(
      "subledger_connections_open", .gauge, "Open connections.", connections.value)
    page.single(
      "subledger_connections_cut_total", .counter,
      "Connections that the client ended before it had the response to its request.",
      cutConnections.value)
    page.family("subledger_reloads_total", .counter, "Reloads of the configuration, by outcome.")
    for (outcome, count) in reloads.samples {
      page.sample("subledger_reloads_total", [(name: "outcome", value: outcome)], count)
    }
    page.single(
      "subledger_log_lines_lost_total", .counter,
      "Log lines dropped because the log was not read fast enough.", Log.lost)
  }

  private func write(_ copy: CopyStatus, _ page: inout PrometheusText) {
    page.family(
      "subledger_shared_journal_behind_seconds", .gauge,
      "Time since the folder last had all that the shared journal has.")
    page.sample(
      "subledger_shared_journal_behind_seconds", [], Double(copy.millisecondsBehind) / 1000)
    page.single(
      "subledger_shared_journal_retries_total", .counter,
      "Commits to the shared journal that were tried again.", copy.retries.value)
    page.single(
      "subledger_shared_journal_unknown_total", .counter,
      "Commits to the shared journal whose outcome had to be found out.", copy.unknowns.value)
    page.single(
      "subledger_shared_journal_regressions_total", .counter,
      "How often the shared journal had lost what it had committed.", copy.regressions.value)
  }

  /// A journal of its own has none.
  private func write(_ faults: CopyFaults, _ page: inout PrometheusText) {
    page.family(
      "subledger_shared_journal_faults", .gauge,
      "What was followed and is not taken for what it says, by kind.")
    for (kind, count) in [
      ("broken_event", faults.brokenEvents), ("unproven_event", faults.unprovenEvents),
      ("skipped_note", faults.skippedNotes),
    ] {
      page.sample("subledger_shared_journal_faults", [(name: "kind", value: kind)], count)
    }
  }

  private func writeJournal(
    _ page: inout PrometheusText, _ ledger: Ledger, _ readings: ResourceReadings
  ) {
    page.single("subledger_journal_seq", .gauge, "The seq of the newest event.", ledger.seq)
    page.family(
      "subledger_received_ahead_seconds", .gauge,
      "How far the newest receive time is ahead of this machine's clock; 0 if less than five "
        + "minutes.")
    page.sample(
      "subledger_received_ahead_seconds", [], Double(ledger.receivedAhead(of: Clock.now())) / 1000)
    page.single(
      "subledger_journal_bytes", .gauge, "Size of journal.sqlite.", readings.journalBytes)
    page.single(
      "subledger_journal_wal_bytes", .gauge, "Size of the journal's write-ahead log.",
      readings.walBytes)
    page.single(
      "subledger_journal_failed", .gauge,
      "1 if a write to the journal has failed, after which the daemon exits.",
      ledger.failure == nil ? 0 : 1)
    page.single(
      "subledger_journal_failed_time_seconds", .gauge,
      "When a write to the journal last failed, also before the start; 0 if none did.",
      (JournalFailure.last(ledger.folder) ?? 0) / 1000)
    page.single(
      "subledger_waiting", .gauge, "Notifications waiting for the writer.",
      Int64(ledger.waiting))
    page.single(
      "subledger_shared_purchases", .gauge, "Purchases that more than one account has claimed.",
      readings.sharedPurchases)
    page.single(
      "subledger_held_judged", .gauge,
      "1 once this program's fold has judged all held evidence; its rows become live after that.",
      ledger.judging.isComplete ? 1 : 0)
    page.single(
      "subledger_held_judged_streams_total", .counter,
      "Customers whose held evidence was judged by this program's fold, once after an upgrade.",
      ledger.judging.streams.value)
    page.single(
      "subledger_held_judged_events_total", .counter, "Events that were journaled by that.",
      ledger.judging.journaled.value)
    page.single(
      "subledger_held_waiting_streams", .gauge,
      "Customers whose held evidence is still to be judged behind an event that was appended.",
      ledger.judging.waitingCount)
    write(ledger.copy?.faults ?? .none, &page)
    if let copy = ledger.copy { write(copy, &page) }
    guard let disk = readings.disk else { return }
    page.single(
      "subledger_disk_free_bytes", .gauge, "Free space on the data folder's disk.", disk.free)
    page.single(
      "subledger_disk_size_bytes", .gauge, "Size of the data folder's disk.", disk.total)
  }

  private func writeProjection(_ page: inout PrometheusText, _ ledger: Ledger, _ folded: Int64?) {
    let state = ledger.liveProjection.state
    page.single(
      "subledger_rows_live", .gauge, "1 if rows can be read for lists; 0 while there are none.",
      state.isReadable ? 1 : 0)
    page.family(
      "subledger_projection_state", .gauge,
      "1 for the state of the live projection, 0 for the others.")
    for other in ProjectionState.allCases {
      page.sample(
        "subledger_projection_state", [(name: "state", value: other.rawValue)],
        Int64(other == state ? 1 : 0))
    }
    page.single(
      "subledger_projection_damaged_total", .counter,
      "How often a projection was found damaged and built again.", ledger.liveProjection.damages)
    page.family(
      "subledger_projection_checked_time_seconds", .gauge,
      "When the last check of all rows that found no damage began, as Unix time; 0 before any.")
    page.sample(
      "subledger_projection_checked_time_seconds", [],
      Double(ledger.liveProjection.checkedAt) / 1000)
    page.single(
      "subledger_projection_lag_events", .gauge,
      "Events in the journal that are not in the live projection.",
      max(0, ledger.seq - (folded ?? 0)))
  }

  private func writeRowCounts(
    _ page: inout PrometheusText, _ counts: ProjectionReader.Counts?,
    _ token: Configuration.ReadToken
  ) {
    func isShown(_ app: ProjectionReader.Counts.App) -> Bool {
      token.covers(environment: app.environment, bundleId: app.bundleId)
    }
    page.single(
      "subledger_rows_broken", .gauge,
      "Rows of the live projection whose fold failed, as of the last count.",
      counts?.broken.filter { isShown($0.key) }.values.reduce(0, +) ?? 0)
    guard let counts else { return }
    var numbers: [[String]: Int64] = [:]
    for (app, statuses) in counts.byStatus where isShown(app) {
      for (status, number) in statuses {
        numbers[[app.environment.rawValue, status.rawValue], default: 0] += number
      }
    }
    page.family(
      "subledger_rows", .gauge,
      "Rows of the live projection by environment and status, counted "
        + "subledger_rows_age_seconds ago.")
    for (labels, number) in numbers.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      page.sample(
        "subledger_rows",
        [(name: "environment", value: labels[0]), (name: "status", value: labels[1])], number)
    }
    page.family("subledger_rows_age_seconds", .gauge, "How long ago the rows were counted.")
    page.sample("subledger_rows_age_seconds", [], Double(Clock.now() - counts.at) / 1000)
  }

  private func writeConfirmations(
    _ page: inout PrometheusText,
    _ confirmations: [ProjectionReader.Counts.App: JournalReader.Confirmations]
  ) {
    let byEnvironment = Dictionary(grouping: confirmations) { $0.key.environment.rawValue }
      .sorted { $0.key < $1.key }
    page.family(
      "subledger_rows_confirmed", .gauge,
      "Rows about which Apple, asked for it, said the same within the last 30 days, as of the same "
        + "count.")
    for (environment, found) in byEnvironment {
      page.sample(
        "subledger_rows_confirmed", [(name: "environment", value: environment)],
        found.reduce(0) { $0 + $1.value.customers })
    }
    page.family(
      "subledger_confirmed_time_seconds", .gauge,
      "When Apple, asked for it, last said the same about any row, as Unix time.")
    for (environment, found) in byEnvironment {
      page.sample(
        "subledger_confirmed_time_seconds", [(name: "environment", value: environment)],
        Double(found.map(\.value.newest).max() ?? 0) / 1000)
    }
  }
}
