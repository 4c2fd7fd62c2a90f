import Foundation
import StrictJSON
import Support
import Testing

/// Receivers that fail, and what becomes of the messages (promise 12).
@Suite struct SinkFailureTests {
  private static func otid(_ request: ScriptedServer.Request) -> String? {
    (try? JSONDocument(parsing: request.body))?.root["subject"]?.string
  }

  @Test func `one customer's refused message stops no other customer`() throws {
    let world = try SinkWorld()
    world.answer { Self.otid($0) == "7001" ? [.response(500, "no")] : [.response(200, "ok")] }
    let daemon = try world.start()
    try world.post(daemon, 1...2, otid: "7001")
    try world.post(daemon, 3...4, otid: "7002")
    try world.waitUntil("both of the other") { Set(world.seqs).isSuperset(of: [3, 4]) }
    try world.waitUntil("held") { world.sink(daemon)?["held"]?.integer == 2 }
    try world.waitUntil("the place") { world.sink(daemon)?["seq"]?.integer == 4 }
    #expect(!world.seqs.contains(2))
    // What is held survives a crash, and goes out in order once the receiver takes it.
    try daemon.crash()
    world.answer { _ in [.response(200, "ok")] }
    let after = try world.start()
    let retried = try world.installation.run("sink", "retry", "backend")
    #expect(retried.code == 0 && retried.output == "2 messages are tried again\n", "\(retried)")
    try world.waitUntil("the second") { world.seqs.last == 2 }
    try world.waitUntil("nothing held") { world.sink(after)?["held"]?.integer == 0 }
    _ = try after.stop()
  }

  @Test func `while the receiver is down nothing is lost, and everything comes in order`() throws {
    let world = try SinkWorld()
    world.answer { _ in [.response(503, "", fields: "Retry-After: 1\r\n")] }
    let daemon = try world.start()
    try world.post(daemon, 1...20, otid: "7001")
    try world.waitUntil("down") { world.sink(daemon)?["state"]?.string == "down" }
    #expect(world.sink(daemon)?["reason"]?.string == "HTTP 503")
    #expect(world.sink(daemon)?["last_status"]?.integer == 503)
    let doctor = try world.installation.run("doctor", "--offline")
    #expect(doctor.code == 1 && doctor.output.contains("backend is down: HTTP 503"), "\(doctor)")
    world.answer { _ in [.response(200, "")] }
    try world.waitUntil("all") { world.sink(daemon)?["seq"]?.integer == 20 }
    let delivered = world.seqs.suffix(20)
    #expect(Array(delivered) == Array(1...20))
    #expect(world.sink(daemon)?["reason"]?.kind == .null)
    #expect(world.sink(daemon)?["last_status"]?.integer == 200)
    try daemon.logged("sink_down")
    try daemon.logged("sink_up")
    _ = try daemon.stop()
  }

  @Test(arguments: ["reset", "no HTTP", "gone", "redirect", "compressed 503"])
  func `a receiver that breaks the rules is told by name`(fault: String) throws {
    let world = try SinkWorld()
    let other = try ScriptedServer { _ in [.response(200, "")] }
    let location = other.address
    world.answer { _ in
      switch fault {
      case "reset": [.reset]
      case "no HTTP": [.text("hello\r\n\r\n"), .close]
      case "gone": [.response(410, "")]
      case "redirect": [.response(307, "", fields: "Location: \(location)/\r\n")]
      default: [.response(503, "x", fields: "Content-Encoding: gzip\r\n")]
      }
    }
    let daemon = try world.start()
    try world.post(daemon, 1...1, otid: "7001")
    let isDown = ["reset", "compressed 503"].contains(fault)
    try world.waitUntil(fault) {
      guard let sink = world.sink(daemon) else { return false }
      return switch fault {
      case "gone": sink["state"]?.string == "gone"
      case _ where isDown: sink["state"]?.string == "down"
      default: sink["held"]?.integer == 1
      }
    }
    #expect(other.connections == 0)
    if fault == "gone" {
      world.answer { _ in [.response(200, "")] }
      let resumed = try world.installation.run("sink", "resume", "backend")
      #expect(resumed.code == 0, "\(resumed)")
      try world.waitUntil("resumed") { world.sink(daemon)?["seq"]?.integer == 1 }
    }
    _ = try daemon.stop()
  }

  @Test(arguments: ["long", "compressed", "half", "silent"])
  func `a 2xx head is success, whatever the receiver does with the rest`(rest: String) throws {
    let world = try SinkWorld()
    world.answer { _ in
      switch rest {
      case "long": [.response(200, String(repeating: "x", count: 40_000))]
      case "compressed": [.response(200, "x", fields: "Content-Encoding: gzip\r\n")]
      case "half": [.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .close]
      default:
        [.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .pause(milliseconds: 60_000)]
      }
    }
    let daemon = try world.start()
    try world.post(daemon, 1...2, otid: "7001")
    try world.waitUntil("both") { world.sink(daemon)?["delivered"]?.integer == 2 }
    #expect(world.seqs == [1, 2] && world.sink(daemon)?["last_status"]?.integer == 200)
    #expect(world.sink(daemon)?["failed"]?.integer == 0)
    _ = try daemon.stop()
  }

  @Test func `without privateNetwork nothing on loopback is reached`() throws {
    let world = try SinkWorld()
    try world.configure([
      ("privateNetwork", .null),
      ("url", .string("https://localhost:\(world.receiver.port)/")),
    ])
    let daemon = try world.start()
    try world.post(daemon, 1...1, otid: "7001")
    try world.waitUntil("down") { world.sink(daemon)?["state"]?.string == "down" }
    #expect(world.sink(daemon)?["reason"]?.string?.contains("may not be connected to") == true)
    #expect(world.sink(daemon)?["last_status"]?.kind == .null)
    #expect(world.receiver.connections == 0)
    try daemon.logged("may not be connected to")
    #expect((world.sink(daemon)?["blocked"]?.integer ?? 0) > 0)
    let tested = try world.installation.run("sink", "test", "backend")
    #expect(tested.code == 1 && tested.errors.contains("\"privateNetwork\": true"), "\(tested)")
    let metrics = daemon.client().get("/metrics")?.text ?? ""
    let blocked = metrics.split(separator: "\n").filter { $0.contains("outcome=\"blocked\"") }
    #expect(blocked.count == 1 && blocked.first?.hasSuffix(" 0") == false, "\(blocked)")
    _ = try daemon.stop()
  }

  @Test func `a file that cannot be opened for now loses no place`() throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    try world.post(daemon, 1...2, otid: "7001")
    try world.wait(2)
    _ = try daemon.stop()
    // As on a full disk, SQLite cannot make the file that it shares with readers.
    let data = world.installation.data
    let shared = data.appending(path: "sinks.sqlite-shm")
    try? FileManager.default.removeItem(at: shared)
    try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: false)
    let after = try world.installation.start()
    try world.post(after, 3...3, otid: "7001")
    // It is tried again each second: all are counted, and one a minute is logged.
    try world.waitUntil("three errors") {
      let metrics = MetricsText(after.client().get("/metrics")?.text ?? "")
      return (metrics.value("subledger_store_errors_total", ["part": "sinks"]) ?? 0) >= 3
    }
    try after.logged("delivery_failed")
    let failures = after.log.split(separator: "\n").filter { $0.contains("delivery_failed") }
    #expect(failures.count == 1, "\(failures)")
    try FileManager.default.removeItem(at: shared)
    try world.wait(3)
    #expect(world.seqs == [1, 2, 3])
    let names = try FileManager.default.contentsOfDirectory(atPath: data.path)
    #expect(!names.contains { $0.hasSuffix(".aside") || $0.hasSuffix(".new") }, "\(names)")
    _ = try after.stop()
  }

  @Test(arguments: ["deleted", "overwritten", "restored"])
  func `a sink whose place is lost sends nothing until it is told where to go on`(
    how: String
  ) throws {
    let world = try SinkWorld()
    let daemon = try world.start()
    try world.post(daemon, 1...2, otid: "7001")
    try world.wait(2)
    _ = try daemon.stop()
    let file = world.installation.data.appending(path: "sinks.sqlite")
    if how == "restored" {
      let copy = world.installation.folder.appending(path: "backup").path
      #expect(try world.installation.run("backup", copy).code == 0)
      try FileManager.default.removeItem(at: world.installation.data)
      #expect(try world.installation.run("restore", copy).code == 0)
    } else if how == "deleted" {
      try FileManager.default.removeItem(at: file)
    } else {
      try Data(repeating: 0x41, count: 9000).write(to: file)
    }
    let after = try world.start()
    try world.waitUntil("lost") { world.sink(after)?["state"]?.string == "lost" }
    try world.post(after, 3...3, otid: "7001")
    let doctor = try world.installation.run("doctor", "--offline")
    #expect(doctor.code == 1 && doctor.output.contains("sink resume backend --from"), "\(doctor)")
    let vague = try world.installation.run("sink", "resume", "backend")
    #expect(vague.code == 1 && vague.errors.contains("--from"), "\(vague)")
    let wrong = try world.installation.run("sink", "resume", "backend", "--from", "2-00000000")
    #expect(wrong.code == 1 && wrong.errors.contains("no place in this journal"), "\(wrong)")
    let resumed = try world.installation.run("sink", "resume", "backend", "--from", "1")
    #expect(resumed.code == 0, "\(resumed)")
    try world.waitUntil("the rest") { world.seqs.suffix(2) == [2, 3] }
    _ = try after.stop()
  }
}
