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
}
