import Foundation
import Store
import StrictJSON
import Support
import Synchronization
import Testing

/// Nothing that was answered is lost, however the daemon ends (promises 1, 4, 10).
@Suite struct CrashTests {
  /// What was answered with 200: seq by uuid.
  private final class Answered: Sendable {
    private let seqs = Mutex<[String: Int64]>([:])
    func record(_ uuid: String, _ seq: Int64) { seqs.withLock { $0[uuid] = seq } }
    var all: [String: Int64] { seqs.withLock { $0.detachedCopy } }
  }

  private static let rounds = TestCount.killRounds.number
  private static let connections = 32
  private static let eventsEach = 12

  /// Posts bodies on all connections until the daemon is gone.
  private func postAll(
    _ port: UInt16, _ bodies: [(uuid: String, body: [UInt8])], _ answered: Answered
  ) {
    runConcurrently(Self.connections) { number in
      let client = Client(port: port)
      for (index, item) in bodies.enumerated() where index % Self.connections == number {
        guard let answer = client.post(item.body) else { return }
        if answer.status == 200, let seq = answer.json?["seq"]?.integer {
          answered.record(item.uuid, seq)
        }
      }
    }
  }

  private func bodies(
    _ round: Int, _ installation: Installation
  ) throws -> [(uuid: String, body: [UInt8])] {
    try (0..<Self.connections * Self.eventsEach).map { index in
      let number = round * 10_000 + index
      let body = try installation.sign(
        Sample.notification(number, otid: "80\(number % 17)"))
      return (Sample.uuid(number), body)
    }
  }

  private func check(_ installation: Installation, _ answered: Answered) throws {
    let events = try installation.events()
    #expect(events.compactMap { $0["seq"]?.integer } == (0..<events.count).map { Int64($0 + 1) })
    let seqs = Dictionary(
      grouping: events.compactMap { event in
        event["notification_uuid"]?.string.map { ($0, event["seq"]?.integer ?? 0) }
      }, by: \.0)
    for (uuid, seq) in answered.all {
      #expect(seqs[uuid]?.map(\.1) == [seq], "answered \(uuid) as \(seq)")
    }
    let verified = try installation.run("verify")
    #expect(verified.code == 0, "\(verified)")
  }

  @Test func `a killed daemon loses nothing it answered`() throws {
    let installation = try Installation()
    let answered = Answered()
    var last: [(uuid: String, body: [UInt8])] = []
    var random = SystemRandomNumberGenerator()
    for round in 1...Self.rounds {
      let new = try bodies(round, installation)
      let daemon = try installation.start()
      let (port, work) = (daemon.port, last.suffix(20) + new)
      let before = answered.all.count
      let done = DispatchGroup()
      done.enter()
      Thread.detachNewThread {
        postAll(port, Array(work), answered)
        done.leave()
      }
      let wanted = before + Int.random(in: 1...work.count / 2, using: &random)
      try daemon.command.wait(60, "some answers") { answered.all.count >= wanted }
      usleep(UInt32.random(in: 0...2_000, using: &random))
      try daemon.crash()
      done.wait()
      #expect(
        answered.all.count < before + work.count, "it answered everything before it was killed")
      try check(installation, answered)
      last = new
    }
    let daemon = try installation.start()
    postAll(daemon.port, last, answered)
    #expect(last.allSatisfy { answered.all[$0.uuid] != nil })
    #expect(try daemon.stop().code == 0)
    try check(installation, answered)
  }

  /// Another program opens and closes the files. The last connection that closes a file removes its
  /// -wal, and the daemon's locks must prevent that the other program is taken for the last one.
  @Test func `another program that opens the files loses nothing`() throws {
    let installation = try Installation()
    let answered = Answered()
    let daemon = try installation.start()
    var inodes: [String: Int] = [:]
    for round in 0..<3 {
      let work = try bodies(50 + round, installation)
      postAll(daemon.port, work, answered)
      #expect(daemon.client().get("/v1/entitlements/1")?.status == 404)
      for name in ["journal.sqlite", "entitlements-4.sqlite"] {
        let path = installation.data.appending(path: name).path
        let connection = try SQLiteConnection.open(path, .write)
        try connection.execute("SELECT count(*) FROM sqlite_schema")
        connection.close()
        let wal = try FileManager.default.attributesOfItem(atPath: path + "-wal")
        let inode = wal[.systemFileNumber] as? Int
        #expect(inodes[name] ?? inode == inode, "\(name): another -wal")
        inodes[name] = inode
      }
    }
    try daemon.crash()
    let again = try installation.start()
    #expect(try again.stop().code == 0)
    try check(installation, answered)
  }

  @Test func `a daemon that gets SIGTERM finishes what it accepted`() throws {
    let installation = try Installation()
    let answered = Answered()
    let daemon = try installation.start()
    let work = try bodies(1, installation)
    let port = daemon.port
    let done = DispatchGroup()
    done.enter()
    Thread.detachNewThread {
      postAll(port, work, answered)
      done.leave()
    }
    try daemon.command.wait(60, "some answers") { answered.all.count >= 30 }
    #expect(try daemon.stop().code == 0)
    done.wait()
    #expect(answered.all.count < work.count)
    try check(installation, answered)
    // The -wal was copied into the file.
    for (name, bytes) in try installation.files() where name.hasSuffix("-wal") {
      #expect(bytes.isEmpty, "\(name) has \(bytes.count) bytes")
    }
  }

  @Test func `a request in progress at SIGTERM is finished`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let body = try installation.sign(Sample.notification(1))
    let client = daemon.client()
    #expect(client.get("/healthz", token: nil)?.status == 200)
    let head = "POST /v1/notifications HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n"
    #expect(client.write(Array(head.utf8) + body.prefix(500)))
    usleep(200_000)
    daemon.command.signal(SIGTERM)
    usleep(200_000)
    #expect(client.write(Array(body.dropFirst(500))))
    let answer = try #require(client.answer())
    #expect(try daemon.command.finish(within: 15).code == 0)
    let events = try installation.events()
    #expect((answer.status == 200) == (events.count == 1))
    #expect(answer.status == 200 || answer.field("Retry-After") != nil)
  }

  @Test func `a second daemon touches nothing`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let first = try installation.sign(Sample.notification(1))
    #expect(client.post(first)?.status == 200)
    let before = try installation.files()
    let second = try installation.run("serve")
    #expect(second.code == 3)
    #expect(second.errors.contains("another process"))
    #expect(try installation.files() == before)
    #expect(client.post(try installation.sign(Sample.notification(2)))?.status == 200)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.events().count == 2)
  }
}
