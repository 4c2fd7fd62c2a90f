import Foundation
import StrictJSON
import Support
import Testing

/// Daemons of a shared journal whose configurations are changed one after the other.
@Suite struct MappingRolloutTests {
  private static let monthly = ["pro.monthly"]
  private static let all = ["pro.*"]

  private static func configure(
    _ index: Int, of shared: SharedInstallations, _ products: [String]
  ) throws {
    let address = shared.server.address(shared.database, user: shared.role)
    try shared.installations[index].configure(with: [
      ("sharedJournal", shared.settings(address)),
      ("entitlements", .object([("pro", .array(products.map(JSONValue.string)))])),
    ])
  }

  /// How many mappings were journaled for the app in Production, as a daemon has them.
  private static func journaled(_ daemon: RunningDaemon?) -> Int? {
    let path = "/v1/events?source=catalog&environment=Production"
    return daemon?.client().get(path)?.json?["items"]?.elements.count
  }

  @Test func `daemons that are restarted one by one change the mapping once`() throws {
    let shared = try SharedInstallations()
    for index in 0...1 { try Self.configure(index, of: shared, Self.monthly) }
    let group = try DaemonGroup(shared)
    func wait(for expected: Int) throws {
      try TemporaryPostgres.wait(60, "\(expected) mappings everywhere") {
        group.daemons.allSatisfy { Self.journaled($0) == expected }
      }
    }
    func restart(_ index: Int) throws {
      #expect(try group.stop(index)?.code == 0)
      try group.start(index)
    }
    try wait(for: 1)
    // There and back again; each daemon is once the first that is restarted.
    for (order, products, expected) in [
      ([0, 1], Self.all, 2),
      ([1, 0], Self.monthly, 3),
    ] {
      for index in order {
        try Self.configure(index, of: shared, products)
        try restart(index)
        group.traffic.send(try group.bodies(index * 10..<index * 10 + 5), connections: 2)
      }
      try wait(for: expected)
    }
    // What is configured everywhere is in force, and nobody changes it again.
    for index in 0...1 { try restart(index) }
    try wait(for: 3)
    try group.settle()
    try group.expectNothingLostOrTwice()
  }

  @Test func `a daemon names the mapping of another that it is not configured with`() throws {
    let shared = try SharedInstallations()
    for index in 0...1 { try Self.configure(index, of: shared, Self.monthly) }
    let group = try DaemonGroup(shared)
    try TemporaryPostgres.wait(60, "the mapping") {
      group.daemons.allSatisfy { Self.journaled($0) == 1 }
    }
    let other = try #require(group.daemons[1])
    func ready() -> JSONElement? { other.client().get("/readyz", token: nil)?.json }
    #expect(ready()?["other_mappings"] == nil)

    let (config, old) = (
      shared.installations[0].config, try Data(contentsOf: shared.installations[0].config)
    )
    func accept() throws {
      let accepted = try shared.installations[0].run("entitlements", "--accept", config.path)
      #expect(accepted.code == 0, "\(accepted)")
    }
    try Self.configure(0, of: shared, Self.all)
    try accept()
    try TemporaryPostgres.wait(60, "what differs") {
      ready()?["other_mappings"]?.elements.count == 2
    }
    let named = try #require(ready()?["other_mappings"]?.elements.first)
    #expect(named["token"]?.string == "command" && named["seq"]?.integer ?? 0 > 2)
    try other.logged("mapping_differs", "\"token\":\"command\"", "com.example.app")
    func metric() -> Double? {
      other.client().get("/metrics").flatMap {
        MetricsText($0.text).value("subledger_mapping_differs")
      }
    }
    #expect(metric() == 2)
    try old.write(to: config)
    try accept()
    try TemporaryPostgres.wait(60, "what is the same") {
      ready().map { $0["other_mappings"] == nil } ?? false
    }
    #expect(metric() == 0)
    try group.settle()
  }
}
