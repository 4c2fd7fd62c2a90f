import Foundation
import SignedData
import StrictJSON
import Support
import Testing

/// The sinks pass from one daemon to another, and nothing is lost or out of order (promise 12).
@Suite struct HandOverTests {
  private let receiver: ScriptedServer
  private let group: DaemonGroup

  init() throws {
    receiver = try ScriptedServer { _ in [.response(204, "")] }
    let shared = try SharedInstallations()
    let secret = WebhookSecret.generate()
    let sink: [(String, JSONValue)] = [
      ("name", .string("backend")), ("kind", .string("webhook")),
      ("url", .string(receiver.address + "/hook")), ("secretFile", .string("a.whsec")),
      ("privateNetwork", .boolean(true)),
    ]
    let address = shared.server.address(shared.database, user: shared.role)
    for installation in shared.installations {
      let path = installation.folder.appending(path: "a.whsec").path
      try Data(secret.utf8).write(to: URL(filePath: path))
      chmod(path, 0o600)
      try installation.configure(with: [
        ("sharedJournal", shared.settings(address)), ("sinks", .array([.object(sink)])),
      ])
    }
    group = try DaemonGroup(shared)
  }

  /// The daemon that has the sink, once it has.
  private func holder() throws -> Int {
    var holder: Int?
    try TemporaryPostgres.wait(20, "the sink") {
      holder = group.daemons.firstIndex { daemon in
        daemon?.client().get("/v1/sinks")?.json?["items"]?.elements.isEmpty == false
      }
      return holder != nil
    }
    return try #require(holder)
  }

  private var messages: [JSONElement] {
    receiver.requests.compactMap { try? JSONDocument(parsing: $0.body).root }
  }

  /// The events that were told, each once, in the order of their first messages.
  private var told: [(seq: Int64, customer: String)] {
    var known: Set<Int64> = []
    return messages.compactMap { message in
      guard let seq = message["data"]?["seq"]?.integer, known.insert(seq).inserted else {
        return nil
      }
      return (seq, message["subject"]?.string ?? "")
    }
  }

  private func wait(for count: Int, within seconds: Double) throws {
    try TemporaryPostgres.wait(seconds, "\(count) events, of which \(told.count) were told") {
      told.count == count
    }
  }

  private func expectOrder() {
    for (customer, seqs) in Dictionary(grouping: told, by: \.customer) {
      #expect(seqs.map(\.seq) == seqs.map(\.seq).sorted(), "\(customer)")
    }
  }

  @Test func `a daemon that stops hands its sinks over, and nothing is sent twice`() throws {
    let bodies = try group.bodies(0..<60)
    let first = try holder()
    group.traffic.send(Array(bodies[..<20]), connections: 4)
    try wait(for: 20, within: 20)
    let stopped = try group.stop(first)
    #expect(stopped?.code == 0)
    group.traffic.send(Array(bodies[20..<40]), connections: 4)
    try wait(for: 40, within: 20)
    try group.start(first)
    group.traffic.send(Array(bodies[40...]), connections: 4)
    try wait(for: 60, within: 20)
    #expect(messages.count == 60)
    expectOrder()
    try group.settle()
    try group.expectNothingLostOrTwice()
  }

  /// The place of a new sink is stored before anything is sent to it.
  @Test(.enabled(if: SharedStormTests.isLong, "a lease ends after half a minute"))
  func `when a daemon is killed another one goes on with its sinks`() throws {
    let bodies = try group.bodies(0..<400)
    let first = try holder()
    group.traffic.send(Array(bodies[..<200]), connections: 8)
    try wait(for: 200, within: 20)
    let start = Date()
    try group.crash(first, startingAgain: false)
    group.traffic.send(Array(bodies[200...]), connections: 8)
    try wait(for: 400, within: 60)
    print(
      "shared sinks: the other daemon went on after \(Int(Date().timeIntervalSince(start))) s, "
        + "\(messages.count - 400) of 400 messages were sent twice")
    expectOrder()
    try group.start(first)
    try group.settle()
    try group.expectNothingLostOrTwice()
  }
}
