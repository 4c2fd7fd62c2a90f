import Foundation
import StrictJSON
import Support
import Testing

/// Played outages: after `recover` the rows are those of a ledger that never missed anything,
/// wherever Apple still has it, and the report names what is gone.
@Suite struct OutageTests {
  struct Played: Sendable, CustomTestStringConvertible {
    let outage: Int64
    let customers: Int
    var isBesideDaemon = true
    var quirks = ""
    let testDescription: String
  }

  private static let outages = [
    Played(outage: 15 * 60_000, customers: 4000, testDescription: "15 minutes"),
    Played(
      outage: 3 * PlayedStore.day, customers: 60, isBesideDaemon: false,
      quirks: #"{"scramble":true,"duplicates":true,"emptyLastPage":true,"lastToken":true}"#,
      testDescription: "3 days, scrambled pages"),
    Played(outage: 40 * PlayedStore.day, customers: 30, testDescription: "40 days"),
    Played(outage: 200 * PlayedStore.day, customers: 30, testDescription: "200 days"),
  ]

  @Test(arguments: outages) func `an outage is recovered`(_ played: Played) throws {
    let days = (played.outage + PlayedStore.day - 1) / PlayedStore.day + 1
    let store = try PlayedStore([
      "--customers", "\(played.customers)", "--days", "\(days + 60)", "--behind", "\(days)",
    ])
    let daemon = try store.installation.start()
    try store.advance(days * PlayedStore.day - played.outage, notify: "true")
    let began = Int64(Date().timeIntervalSince1970 * 1000) - played.outage
    let before = try store.journaled()
    try store.advance(played.outage, notify: #""TLS_ISSUE""#)
    try store.control(#"{"notify":true}"#)
    if !played.quirks.isEmpty { try store.control(played.quirks) }
    if !played.isBesideDaemon { try daemon.stop() }
    let expected = try store.reference(before, since: began - PlayedStore.hour)
    let dry = try store.recover("--since", "\(began)", "--dry-run")
    #expect(try store.journaled().count == before.count)
    let (code, app) = try store.recover("--since", "\(began)")
    if played.isBesideDaemon { try daemon.stop() }
    let state = try PlayedStore.state(store.installation)
    #expect(state.digest == expected.digest && state.events == expected.events)
    check(app, code, played, recovered: (expected.events ?? 0) - Int64(before.count), began)
    #expect(dry.app["recovered"]?.text == app["recovered"]?.text)
    // A second run finds nothing.
    let again = try store.recover("--since", "\(began)")
    #expect(again.app["recovered"]?["events"]?.integer == 0)
    #expect(try store.requests().refused == 0)
  }

  private func check(
    _ app: JSONElement, _ code: Int32, _ played: Played, recovered: Int64, _ began: Int64
  ) {
    let events = app["recovered"]?["events"]?.integer ?? -1
    #expect(events == recovered, "\(String(decoding: app.text, as: UTF8.self))")
    let types = app["recovered"]?["types"]?.elements ?? []
    #expect(types.reduce(0) { $0 + ($1["count"]?.integer ?? 0) } == events)
    #expect(app["delivered"]?["count"]?.integer == 0 && app["unlisted"]?["count"]?.integer == 0)
    #expect(app["error"]?.kind == .null)
    let outages = app["outages"]?.elements ?? []
    #expect(outages.allSatisfy { $0["cause"]?.string == "TLS_ISSUE" })
    let isGone = played.outage > 180 * PlayedStore.day
    #expect(code == (isGone ? 1 : 0))
    if isGone {
      #expect(app["gone"]?["from"]?.integer == began)
      let to = app["gone"]?["to"]?.integer ?? 0
      #expect(abs(began + 20 * PlayedStore.day + PlayedStore.hour - to) < PlayedStore.hour)
    } else {
      #expect(app["gone"]?.kind == .null)
      guard let first = outages.first?["from"]?.integer else { return }
      #expect(first >= began - PlayedStore.hour)
    }
  }
}
