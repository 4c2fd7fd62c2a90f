import AppStore
import Entitlements
import Ledger
import Platform
import Store

/// When Apple posted notifications of each app.
extension Doctor {
  /// How many pauses between arrivals are compared with the current one.
  private static let comparedPauses = 200

  func examineArrivals() throws(LedgerError) {
    guard let reader = journal else { return }
    for app in configuration.apps.values.sorted(by: { $0.bundleId < $1.bundleId }) {
      var hasArrivals = false
      for environment in app.environments.sorted() {
        let times = try reader.postedTimes(
          environment: environment, bundleId: app.bundleId, limit: Self.comparedPauses + 1)
        let tests = try reader.postedTimes(
          .tests, environment: environment, bundleId: app.bundleId, limit: 1)
        hasArrivals = hasArrivals || !times.isEmpty || !tests.isEmpty
        examineSilence("\(app.bundleId) \(environment.rawValue)", times, environment == .production)
      }
      guard !hasArrivals else { continue }
      reportFinding(
        "\(app.bundleId): Apple has never posted a notification",
        next: "App Store Connect, App Information: give the URL "
          + "https://your.host/v1/notifications, version 2, for both environments, then run "
          + "subledger test-notification; check the quarantine too")
    }
    try examineTypes(reader)
  }

  /// - Parameter times: receive times, the newest first.
  private func examineSilence(_ name: String, _ times: [Int64], _ isProduction: Bool) {
    guard let last = times.first else { return report("\(name): none yet") }
    let silence = max(0, now.subtracting(orBoundBy: last))
    let pauses = zip(times, times.dropFirst()).map { $0.subtracting(orBoundBy: $1) }
    let longest = pauses.max() ?? 0
    let elapsed = ReadableUnits.duration(milliseconds: silence)
    var text = "\(name): the last one \(elapsed) ago"
    // Fewer pauses do not predict the next one.
    guard pauses.count >= 20 else { return report(text) }
    text +=
      "; the longest pause among the last \(times.count) was "
      + ReadableUnits.duration(milliseconds: longest)
    guard isProduction, silence / 2 > longest, silence > 3_600_000 else {
      return report(text)
    }
    reportFinding(
      text,
      next: "that is unusual: request https://your.host/readyz from outside, check the proxy's log "
        + "and certificate, and the URL in App Store Connect; Apple retries for some days, and "
        + "has a history")
  }
}
