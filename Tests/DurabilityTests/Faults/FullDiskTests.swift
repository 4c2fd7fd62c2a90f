import Foundation
import Ledger
import Platform
import Store
import StrictJSON
import Support
import Synchronization
import Testing

/// A full disk: notifications are refused with 503, nothing else changes, and they are accepted
/// again once there is space.
@Suite struct FullDiskTests {
  init() { Log.isSilent.store(true, ordering: .relaxed) }

  @Test func `a full disk refuses notifications until there is space`() throws {
    let test = try FaultTest(known: 3, of: 60)
    let disk = try test.disk()
    disk.intercept(tracing: false)
    let daemon = try disk.installation.start()
    let client = daemon.client()
    var accepted = test.before
    var next = 3
    func post() throws -> Client.Answer {
      let answer = try #require(client.post(test.bodies[next].body))
      guard answer.status == 200, let seq = answer.json?["seq"]?.integer else { return answer }
      accepted[seq] = test.bodies[next].uuid
      next += 1
      return answer
    }
    for _ in 0..<3 {
      try Data().write(to: disk.full)
      // The -wal has some allocated space left, so the first few are still accepted.
      while try post().status == 200 {}
      for _ in 0..<4 {
        let answer = try post()
        #expect(answer.status == 503 && answer.field("Retry-After") != nil, "\(answer.text)")
        #expect(answer.json?["code"]?.string == "disk_full")
      }
      let ready = client.get("/readyz", token: nil)
      #expect(ready?.status == 503 && ready?.json?["code"]?.string == "disk_full")
      // A journaled event is a duplicate. What the projection lacks meanwhile, the journal has.
      #expect(client.post(test.bodies[0].body)?.status == 200)
      #expect(client.get("/v1/entitlements/900")?.status == 200)
      #expect(client.get("/healthz")?.status == 200)
      try FileManager.default.removeItem(at: disk.full)
      for _ in 0..<4 { #expect(try post().status == 200) }
      #expect(client.get("/readyz", token: nil)?.status == 200)
      #expect(client.get("/v1/entitlements/900")?.status == 200)
    }
    #expect(next < test.bodies.count)
    #expect(try daemon.stop().code == 0)
    disk.stopIntercepting()
    try test.imageCheck.run(
      DataFolder(path: disk.installation.data.path), answered: accepted, isDeep: true)
  }

  @Test func `a full disk is an error in the log once, and a metric, until there is room`() throws {
    let test = try FaultTest(known: 3, of: 60)
    let disk = try test.disk()
    disk.intercept(tracing: false)
    let daemon = try disk.installation.start()
    let client = daemon.client()
    func metric(_ name: String, _ labels: [String: String] = [:]) throws -> Double? {
      MetricsText(try #require(client.get("/metrics")).text).value(name, labels)
    }
    func lines(_ event: String) -> [Substring] {
      daemon.log.split(separator: "\n").filter { $0.contains("\"event\":\"\(event)\"") }
    }
    #expect(try metric("subledger_disk_full") == 0)
    try Data().write(to: disk.full)
    var next = 3
    while client.post(test.bodies[next].body)?.status == 200 { next += 1 }
    for _ in 0..<50 { #expect(client.post(test.bodies[next].body)?.status == 503) }
    #expect(try metric("subledger_disk_full") == 1 && metric("subledger_ready") == 0)
    #expect(try metric("subledger_unready", ["reason": "disk_full"]) == 1)
    #expect((try metric("subledger_store_errors_total", ["part": "journal"]) ?? 0) >= 51)
    try daemon.command.wait(10, "the line") { !lines("disk_full").isEmpty }
    #expect(lines("disk_full").count == 1)
    let line = try #require(lines("disk_full").first)
    #expect(line.contains("\"level\":\"error\"") && line.contains("free space"), "\(line)")
    #expect(lines("disk_has_space").isEmpty)
    try FileManager.default.removeItem(at: disk.full)
    // No notification tells it: the daemon tries.
    try daemon.command.wait(60, "the end") { !lines("disk_has_space").isEmpty }
    #expect(lines("disk_has_space").count == 1 && lines("disk_full").count == 1)
    #expect(lines("disk_has_space").first?.contains("\"refused\":51") == true)
    #expect(try metric("subledger_disk_full") == 0)
    #expect(client.post(test.bodies[next].body)?.status == 200)
    #expect(try daemon.stop().code == 0)
    disk.stopIntercepting()
  }

  /// Neither a first start nor a start after a crash does damage, and both succeed once there is
  /// space.
  @Test func `a start on a full disk is refused with the reason`() throws {
    let test = try FaultTest(known: 3, of: 4)
    for disk in [try test.disk(), try InterceptedDisk(test.authority, sent: test.bodies)] {
      disk.intercept(tracing: false)
      try Data().write(to: disk.full)
      let refused = try disk.run(["serve"])
      #expect(refused.code == 3 && refused.errors.contains("full"), "\(refused)")
      try FileManager.default.removeItem(at: disk.full)
      let daemon = try disk.installation.start()
      try disk.post(test.bodies.map(\.body), to: daemon)
      #expect(try daemon.stop().code == 0)
      disk.stopIntercepting()
      try test.imageCheck.run(
        DataFolder(path: disk.installation.data.path), answered: test.before)
    }
  }

  /// The disk is full when the daemon exits.
  @Test func `an exit on a full disk loses nothing`() throws {
    let test = try FaultTest(known: 3, of: 8)
    let disk = try test.disk()
    disk.intercept(tracing: false)
    let daemon = try disk.installation.start()
    try disk.post(test.bodies.map(\.body), to: daemon)
    try Data().write(to: disk.full)
    #expect(daemon.client().post(test.bodies[1].body)?.status == 200)
    let ended = try daemon.stop()
    #expect([0, 3].contains(ended.code))
    disk.stopIntercepting()
    let all = test.bodies.enumerated().map { (Int64($0.offset + 1), $0.element.uuid) }
    try test.imageCheck.run(
      DataFolder(path: disk.installation.data.path),
      answered: Dictionary(uniqueKeysWithValues: all), isDeep: true)
  }

  /// A real file system of about a megabyte, if the machine allows to mount one, so that the errors
  /// are the kernel's.
  @Test(.enabled(if: canMount)) func `a full file system loses nothing that was answered`() throws {
    let disk = try InterceptedDisk()
    let folder = disk.installation.folder
    let data = disk.installation.data
    try FileManager.default.createDirectory(at: data, withIntermediateDirectories: false)
    let script = """
      mount -t tmpfs -o size=900k,mode=0700 tmpfs "$1" &&
      head -c 100000 /dev/zero > "$1/filler" &&
      exec "$2" serve --config "$3"
      """
    let command = try RunningCommand(
      [
        "-Urm", "sh", "-c", script, "sh", data.path, disk.installation.program.path,
        disk.installation.config.path,
      ], in: folder, program: URL(filePath: "/usr/bin/unshare"))
    try command.wait(60, "the daemon to listen") {
      RunningDaemon.port(in: command.errorsSoFar()) != nil
    }
    let port = try #require(RunningDaemon.port(in: command.errorsSoFar()))
    let client = Client(port: port)
    var accepted: [Int64: String] = [:]
    var refused: Int?
    for number in 0..<400 where refused == nil {
      let body = try disk.sign(number..<number + 1)[0]
      let answer = try #require(client.post(body), "\(command.errorsSoFar())")
      if answer.status == 200, let seq = answer.json?["seq"]?.integer {
        accepted[seq] = Sample.uuid(number)
      } else {
        #expect(answer.status == 503 && answer.field("Retry-After") != nil, "\(answer.text)")
        refused = number
      }
    }
    let last = try #require(refused, "the disk was never full")
    #expect(command.isRunning)
    let mounted = "/proc/\(command.id)/root\(data.path)"
    try FileManager.default.removeItem(atPath: mounted + "/filler")
    let answer = client.post(disk.sent[last].body)
    #expect(answer?.status == 200, "\(answer?.text ?? "") \(command.errorsSoFar())")
    if let seq = answer?.json?["seq"]?.integer { accepted[seq] = Sample.uuid(last) }
    // The files as a crash would leave them.
    let left = try InterceptedDisk(disk.installation.authority, sent: disk.sent)
    try FileManager.default.createDirectory(
      at: left.installation.data, withIntermediateDirectories: false)
    for name in ["journal.sqlite", "journal.sqlite-wal", "projections", "entitlements-4.sqlite"] {
      try FileManager.default.copyItem(
        atPath: mounted + "/" + name, toPath: left.installation.data.path + "/" + name)
    }
    command.signal(SIGTERM)
    #expect(try command.finish(within: 20).code == 0)
    let configuration = try Configuration.load(
      file: left.installation.config.path, variables: [:], listen: nil, data: nil)
    let receiver = try Receiver(configuration)
    let received = try disk.sent.map {
      ($0.uuid, try receiver.receive(body: $0.body, at: Sample.start))
    }
    try ImageCheck(
      configuration: configuration, received: Dictionary(uniqueKeysWithValues: received)
    ).run(DataFolder(path: left.installation.data.path), answered: accepted)
  }

  /// Whether this user can mount a file system in a new namespace.
  static let canMount: Bool = {
    let tried = try? RunningCommand(
      ["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"],
      in: FileManager.default.temporaryDirectory, program: URL(filePath: "/usr/bin/unshare")
    ).finish()
    return tried?.code == 0
  }()
}
