import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

@testable import subledger_bench

/// Many slow clients delay no other client and leave nothing behind.
@Suite(.serialized) struct SlowClientTests {
  private static func limits(_ limits: [(String, JSONValue)]) -> [(String, JSONValue)] {
    [("limits", .object(limits))]
  }

  private static let impatient = limits([
    ("headerSeconds", .integer(1)), ("bodySeconds", .integer(1)), ("idleSeconds", .integer(1)),
  ])

  /// Lets each client go on.
  ///
  /// - Returns: whether the daemon has closed it.
  private func goOn(_ clients: [SlowClient]) -> [Bool] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    return clients.map { client in
      let isClosed = client.isClosed(&buffer)
      if !isClosed { client.advance() }
      return isClosed
    }
  }

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
    var slow = try SlowClient.Manner.allCases.flatMap { manner in
      try (0..<30).map { _ in try SlowClient(manner, port: daemon.port) }
    }
    // Other clients are served meanwhile.
    for number in 0..<20 {
      _ = goOn(slow)
      let notification = try installation.sign(Sample.notification(number))
      #expect(daemon.client().post(notification)?.status == 200)
    }
    slow.removeAll { $0.manner == .resets }
    try daemon.command.wait(60, "every slow one to be closed") {
      usleep(20_000)
      return zip(slow, goOn(slow)).allSatisfy { $1 || $0.manner == .neverReads }
    }
    for client in slow {
      switch client.manner {
      case .dripsHead, .dripsBody: #expect(client.status == 408, "\(client.manner)")
      case .silent, .halfOpen: #expect(client.status == nil, "\(client.manner)")
      case .idles: #expect(client.status == 200)
      // One that never reads has half a minute to start with it.
      case .resets, .neverReads: break
      }
    }
    slow = []
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
    var slow = try (0..<40).map { _ in try SlowClient(.dripsBody, port: daemon.port) }
    try daemon.command.wait(60, "the places to be taken") {
      // The client that asked last may still have had a place when these came.
      for (index, isClosed) in goOn(slow).enumerated() where isClosed {
        slow[index] = try SlowClient(.dripsBody, port: daemon.port)
      }
      // No connection is left for another client.
      return daemon.client().get("/metrics")?.status == 503
    }
    let late = try (0..<300).map { _ in try SlowClient(.silent, port: daemon.port) }
    try daemon.command.wait(60, "all of them to be answered") { !goOn(late).contains(false) }
    // A reset may overtake the answer; then the client sees a closed connection only.
    #expect(late.allSatisfy { $0.status == 503 || $0.status == nil })
    let told = late.filter {
      String(decoding: $0.received, as: UTF8.self).contains("Retry-After: ")
    }
    #expect(told.count >= 270, "of 300")
    for client in slow { client.resetOnClose() }
    slow = []
    try daemon.command.wait(60, "places to be free again") { open(daemon) == 1 }
    let notification = try installation.sign(Sample.notification(1))
    #expect(daemon.client().post(notification)?.status == 200)
    #expect(try daemon.stop().code == 0)
  }
}
