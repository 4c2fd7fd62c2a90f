import Configuration
import Foundation
import JournalStore
import LedgerEngine
import Observability
import StrictJSON
import Support
import Synchronization
import Testing

/// A disk without room: notifications are put off, nothing else changes, and it passes by itself.
@Suite struct FullDiskTests {
  init() { Log.isSilent.store(true, ordering: .relaxed) }

  @Test func aFullDiskPutsOffAndPasses() throws {
    let trial = try FaultTest(known: 3, of: 60)
    let disk = try trial.disk()
    disk.watch(tracing: false)
    let daemon = try disk.installation.start()
    let client = daemon.client()
    var taken = trial.before
    var next = 3
    func post() throws -> Client.Answer {
      let answer = try #require(client.post(trial.bodies[next].body))
      guard answer.status == 200, let seq = answer.json?["seq"]?.integer else { return answer }
      taken[seq] = trial.bodies[next].uuid
      next += 1
      return answer
    }
    for _ in 0..<3 {
      try Data().write(to: disk.full)
      // What the -wal has room for from before is still taken.
      while try post().status == 200 {}
      for _ in 0..<4 {
        let answer = try post()
        #expect(answer.status == 503 && answer.field("Retry-After") != nil, "\(answer.text)")
        #expect(answer.json?["code"]?.string == "disk_full")
      }
      let ready = client.get("/readyz", token: nil)
      #expect(ready?.status == 503 && ready?.json?["code"]?.string == "disk_full")
      // What is journaled is so. Rows that cannot follow are not read meanwhile.
      #expect(client.post(trial.bodies[0].body)?.status == 200)
      #expect([200, 503].contains(client.get("/v1/entitlements/900")?.status))
      #expect(client.get("/healthz")?.status == 200)
      try FileManager.default.removeItem(at: disk.full)
      for _ in 0..<4 { #expect(try post().status == 200) }
      #expect(client.get("/readyz", token: nil)?.status == 200)
      #expect(client.get("/v1/entitlements/900")?.status == 200)
    }
    #expect(next < trial.bodies.count)
    #expect(try daemon.stop().code == 0)
    disk.unwatch()
    try trial.check.run(
      DataFolder(path: disk.installation.data.path), answered: taken, isDeep: true)
  }

  /// Neither a first start nor one after a crash makes anything worse, and each works once there is
  /// room.
  @Test func aStartWithoutRoomSaysSo() throws {
    let trial = try FaultTest(known: 3, of: 4)
    for disk in [try trial.disk(), try WatchedDisk(trial.authority, sent: trial.bodies)] {
      disk.watch(tracing: false)
      try Data().write(to: disk.full)
      let refused = try disk.run(["serve"])
      #expect(refused.code == 3 && refused.errors.contains("full"), "\(refused)")
      try FileManager.default.removeItem(at: disk.full)
      let daemon = try disk.installation.start()
      try disk.post(trial.bodies.map(\.body), to: daemon)
      #expect(try daemon.stop().code == 0)
      disk.unwatch()
      try trial.check.run(
        DataFolder(path: disk.installation.data.path), answered: trial.before)
    }
  }

  /// A full disk when it ends: what was answered is there.
  @Test func anEndWithoutRoomLosesNothing() throws {
    let trial = try FaultTest(known: 3, of: 8)
    let disk = try trial.disk()
    disk.watch(tracing: false)
    let daemon = try disk.installation.start()
    try disk.post(trial.bodies.map(\.body), to: daemon)
    try Data().write(to: disk.full)
    #expect(daemon.client().post(trial.bodies[1].body)?.status == 200)
    let ended = try daemon.stop()
    #expect([0, 3].contains(ended.code))
    disk.unwatch()
    let all = trial.bodies.enumerated().map { (Int64($0.offset + 1), $0.element.uuid) }
    try trial.check.run(
      DataFolder(path: disk.installation.data.path),
      answered: Dictionary(uniqueKeysWithValues: all), isDeep: true)
  }

  /// A file system of its own, a megabyte small, where the machine lets one be made: no stand-in
  /// for the kernel's own answers.
  @Test(.enabled(if: canMount)) func aSmallFileSystem() throws {
    let disk = try WatchedDisk()
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
    try command.wait(20, "the daemon to listen") {
      RunningDaemon.port(in: command.errorsSoFar()) != nil
    }
    let port = try #require(RunningDaemon.port(in: command.errorsSoFar()))
    let client = Client(port: port)
    var taken: [Int64: String] = [:]
    var put: Int?
    for number in 0..<400 where put == nil {
      let body = try disk.sign(number..<number + 1)[0]
      let answer = try #require(client.post(body), "\(command.errorsSoFar())")
      if answer.status == 200, let seq = answer.json?["seq"]?.integer {
        taken[seq] = Sample.uuid(number)
      } else {
        #expect(answer.status == 503 && answer.field("Retry-After") != nil, "\(answer.text)")
        put = number
      }
    }
    let late = try #require(put, "it never was full")
    #expect(command.isRunning)
    let seen = "/proc/\(command.id)/root\(data.path)"
    try FileManager.default.removeItem(atPath: seen + "/filler")
    let answer = client.post(disk.sent[late].body)
    #expect(answer?.status == 200, "\(answer?.text ?? "") \(command.errorsSoFar())")
    if let seq = answer?.json?["seq"]?.integer { taken[seq] = Sample.uuid(late) }
    // As a crash would leave it.
    let left = try WatchedDisk(disk.installation.authority, sent: disk.sent)
    try FileManager.default.createDirectory(
      at: left.installation.data, withIntermediateDirectories: false)
    for name in ["journal.sqlite", "journal.sqlite-wal", "projections", "entitlements-1.sqlite"] {
      try FileManager.default.copyItem(
        atPath: seen + "/" + name, toPath: left.installation.data.path + "/" + name)
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
    ).run(DataFolder(path: left.installation.data.path), answered: taken)
  }

  /// Whether this user may have a file system in a namespace of its own.
  static let canMount: Bool = {
    let tried = try? RunningCommand(
      ["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"],
      in: FileManager.default.temporaryDirectory, program: URL(filePath: "/usr/bin/unshare")
    ).finish()
    return tried?.code == 0
  }()
}
