import AppStore
import Ledger
import Platform
import SignedData
import Store

/// Trusted roots, and the certificate chains of recent events.
extension Doctor {
  /// A root that expires sooner is a finding: two weeks, in milliseconds.
  private static let expiryWarning: Int64 = 14 * 86_400_000

  func examineRoots() {
    report("Apple Root CA - G3 is pinned; it is valid until 2039-04-30")
    let production = configuration.apps.values.filter { $0.environments.contains(.production) }
      .map(\.bundleId).sorted()
    for der in configuration.trustRoots.certificates {
      let name = "the extra root " + Hexadecimal.encode(Array(SHA256.hash(der).prefix(8)))
      let validity = CertificateDates.validity(der: der)
      let until = validity.map { ", valid until \(Timestamp.text($0.upperBound))" } ?? ""
      if production.isEmpty {
        report("\(name) is trusted\(until)")
      } else {
        reportFinding(
          "\(name) is trusted for Production\(until): anyone with its key can make "
            + "notifications of \(production.joined(separator: ", "))",
          next: "remove it from \"trustRoots\", or take Production from these apps, "
            + "unless this is a test installation")
      }
      if let end = validity?.upperBound, end < now + Self.expiryWarning {
        reportFinding(
          "\(name) \(end < now ? "has expired" : "expires soon")",
          next: "add its successor to \"trustRoots\", then send SIGHUP")
      }
    }
  }

  /// Certificate chains of the newest events.
  func examineChains() throws(LedgerError) {
    let events = try recentEvents()
    var headers: Set<[UInt8]> = []
    var ends: [Int64] = []
    for event in events where event.source == .v2 {
      guard let dot = event.body.firstIndex(of: UInt8(ascii: ".")),
        headers.insert(Array(event.body[..<dot])).inserted
      else { continue }
      if let validity = CertificateDates.chainValidity(jws: event.body[...]) {
        ends.append(validity.upperBound)
      }
    }
    guard let newest = ends.max() else { return }
    let text =
      "\(ends.count) certificate chain\(ends.count == 1 ? "" : "s") in the newest "
      + "\(events.count) events, valid until \(Timestamp.text(newest))"
    if newest < now {
      reportFinding(
        text + ": expired",
        next: "check the clock, and refusals for chain_dates in /metrics; Apple signs with a new "
          + "chain before the old one expires")
    } else {
      report(text)
    }
  }
}
