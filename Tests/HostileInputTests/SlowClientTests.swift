import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// Many slow clients delay no other client and leave nothing behind.
@Suite(.serialized) struct SlowClientTests {
  private static func limits(_ limits: [(String, JSONValue)]) -> [(String, JSONValue)] {
    [("limits", .object(limits))]
  }

  private static let impatient = limits([
    ("headerSeconds", .integer(1)), ("bodySeconds", .integer(1)), ("idleSeconds", .integer(1)),
  ])

  /// Makes each thread of the daemon open its files, including the one that counts rows.
  private func warmUp(_ daemon: RunningDaemon) throws {
    let clients = (0..<16).map { _ in daemon.client() }
    for client in clients { #expect(client.get("/v1/entitlements?limit=1")?.status == 200) }
    try daemon.command.wait(60, "the rows to be counted") {
      clients[0].get("/metrics")?.text.contains("\nsubledger_rows_age_seconds ") == true
    }
  }

  private func open(_ daemon: RunningDaemon) -> Int? {
    let text = daemon.client().get("/metrics")?.text ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("subledger_connections_open ") }
    return line?.split(separator: " ").last.flatMap { Int($0) }
  }

  /// Its descriptors that lead to no file. SQLite keeps a file that is closed beside other
  /// connections for the next one that opens it, because closing it would end their locks
  /// (sqlite.org/howtocorrupt.html, section 2.2).
  private func descriptors(_ daemon: RunningDaemon) -> Int {
    daemon.command.descriptors.count { !$0.hasPrefix("/") }
  }

  /// Waits until only the asking connection is open, then counts descriptors.
  private func settled(_ daemon: RunningDaemon) throws -> Int {
    try daemon.command.wait(60, "all connections to be closed") { open(daemon) == 1 }
    return descriptors(daemon)
  }

  @Test
  func `H28, H33: each of 200 slow clients is closed at its deadline`() throws {
    let installation = try Installation()
    try installation.configure(with: Self.impatient)
    let daemon = try installation.start()
    try warmUp(daemon)
    let before = try settled(daemon)
    let slow = SlowClient.Manner.allCases.flatMap { manner in
      (0..<30).map { _ in SlowClient(manner, port: daemon.port) }
    }
    // Other clients are served meanwhile.
    for number in 0..<20 {
      for client in slow { client.goOn() }
      let notification = try installation.sign(Sample.notification(number))
      #expect(daemon.client().post(notification)?.status == 200)
    }
    for client in slow where client.manner == .resets { client.leave(resetting: true) }
    try daemon.command.wait(60, "every slow one to be closed") {
      usleep(20_000)
      for client in slow { client.goOn() }
      return slow.allSatisfy { $0.isClosed || $0.manner == .neverReads }
    }
    for client in slow {
      switch client.manner {
      case .dripsHead, .dripsBody: #expect(client.status == 408, "\(client.manner)")
      case .silent, .halfOpen: #expect(client.status == nil, "\(client.manner)")
      case .idles: #expect(client.status == 200)
      case .resets: break
      // It has half a minute to start reading; the next test covers that.
      case .neverReads: client.leave(resetting: false)
      }
    }
    _ = try settled(daemon)
    try daemon.command.wait(60, "\(before) descriptors") { descriptors(daemon) <= before }
    #expect(try daemon.stop().code == 0)
    #expect(try installation.verify().code == 0)
  }

  /// Slow clients hold all connections, and many more arrive: nearly all of those get a 503.
  @Test func `H33: connections over the limit are refused with 503`() throws {
    let installation = try Installation()
    try installation.configure(
      with: Self.limits([("connections", .integer(40)), ("connectionsPerAddress", .integer(40))]))
    let daemon = try installation.start()
    try daemon.command.wait(60, "places to be free") { open(daemon) == 1 }
    var slow = (0..<40).map { _ in SlowClient(.dripsBody, port: daemon.port) }
    try daemon.command.wait(60, "the places to be taken") {
      // The client that asked last may still have had a place when these came.
      for index in slow.indices {
        slow[index].goOn()
        if slow[index].isClosed { slow[index] = SlowClient(.dripsBody, port: daemon.port) }
      }
      // No connection is left for another client.
      return daemon.client().get("/metrics")?.status == 503
    }
    let late = (0..<300).map { _ in SlowClient(.silent, port: daemon.port) }
    try daemon.command.wait(60, "all of them to be answered") {
      for client in late { client.goOn() }
      return late.allSatisfy { $0.isClosed }
    }
    // A reset may overtake the answer; then the client sees a closed connection only.
    #expect(late.allSatisfy { $0.status == 503 || $0.status == nil })
    let told = late.filter {
      String(decoding: $0.received, as: UTF8.self).contains("Retry-After: ")
    }
    #expect(told.count >= 270, "of 300")
    for client in slow { client.leave(resetting: true) }
    try daemon.command.wait(60, "places to be free again") { open(daemon) == 1 }
    let notification = try installation.sign(Sample.notification(1))
    #expect(daemon.client().post(notification)?.status == 200)
    #expect(try daemon.stop().code == 0)
  }
}
