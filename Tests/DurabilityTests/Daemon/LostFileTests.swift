import Foundation
import StrictJSON
import Support
import Synchronization
import Testing

/// Another program removes or cuts a file of the journal while the daemon runs. It takes no more,
/// loses nothing that it can still reach, and ends with exit code 3.
@Suite struct LostFileTests {
  enum Harm: String, CaseIterable, Sendable {
    case removed, renamed, emptied, cut

    /// Whether what was answered can still be reached.
    var isNameOnly: Bool { self == .removed || self == .renamed }
  }

  private func harm(_ harm: Harm, _ file: URL) throws {
    switch harm {
    case .removed: try FileManager.default.removeItem(at: file)
    case .renamed: try FileManager.default.moveItem(at: file, to: file.appendingPathExtension("x"))
    case .emptied: #expect(truncate(file.path, 0) == 0)
    case .cut: #expect(truncate(file.path, 20_000) == 0)
    }
  }

  /// What became of the notifications of several connections.
  private final class Traffic: Sendable {
    struct Counts {
      /// Seqs by UUID.
      var answered: [String: Int64] = [:]
      var isHarmed = false
      /// Answered 200 although they were sent after the file was harmed.
      var late = 0
      var refused = 0
    }

    private let counts = Mutex(Counts())

    var answered: [String: Int64] { counts.withLock { $0.answered.detachedCopy } }
    var late: Int { counts.withLock { $0.late } }
    var refused: Int { counts.withLock { $0.refused } }
    var isHarmed: Bool { counts.withLock { $0.isHarmed } }

    func recordHarm() { counts.withLock { $0.isHarmed = true } }

    /// Records an answer, and returns whether it was 200.
    func record(_ answer: Client.Answer, _ uuid: String, isLate: Bool) -> Bool {
      counts.withLock { counts in
        guard answer.status == 200, let seq = answer.json?["seq"]?.integer else {
          counts.refused += 1
          return false
        }
        if isLate { counts.late += 1 }
        counts.answered[uuid] = seq
        return true
      }
    }
  }

  private func expectAll(_ answered: [String: Int64], _ installation: Installation) throws {
    let again = try installation.start()
    #expect(again.client().get("/readyz", token: nil)?.status == 200)
    #expect(try again.stop().code == 0)
    let found = try installation.events().reduce(into: [String: Int64]()) { found, event in
      found[event["notification_uuid"]?.string ?? ""] = event["seq"]?.integer
    }
    for (uuid, seq) in answered { #expect(found[uuid] == seq, "answered \(uuid) as \(seq)") }
    let verified = try installation.run("verify")
    #expect(verified.code == 0, "\(verified)")
  }

  /// Killed as soon as it refuses one.
  @Test(arguments: Harm.allCases)
  func `nothing is answered after it, and nothing within reach is lost`(how: Harm) throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let traffic = Traffic()
    let bodies = try (0..<600).map {
      try installation.sign(Sample.notification($0, otid: "80\($0 % 9)"))
    }
    let (port, threads) = (daemon.port, 4)
    try runWhilePosting(threads) { thread in
      let client = Client(port: port)
      for number in stride(from: thread, to: bodies.count, by: threads) {
        let isLate = traffic.isHarmed
        guard let answer = client.post(bodies[number]),
          traffic.record(answer, Sample.uuid(number), isLate: isLate)
        else { return }
      }
    } meanwhile: {
      try daemon.command.wait(20, "some answers") { traffic.answered.count >= 100 }
      try harm(how, installation.data.appending(path: "journal.sqlite-wal"))
      traffic.recordHarm()
      try daemon.command.wait(20, "a refusal") { traffic.refused > 0 }
      try daemon.crash()
    }
    let answered = traffic.answered
    #expect(answered.count >= 100 && answered.count < bodies.count, "\(answered.count)")
    #expect(traffic.late == 0, "answered 200 after the file was \(how)")
    if how.isNameOnly { try expectAll(answered, installation) }
  }

  @Test(arguments: Harm.allCases)
  func `it notices without any notification, and ends with code 3 and what to do`(
    how: Harm
  ) throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    var answered: [String: Int64] = [:]
    for number in 0..<20 {
      let answer = try #require(client.post(try installation.sign(Sample.notification(number))))
      answered[Sample.uuid(number)] = try #require(answer.json?["seq"]?.integer)
    }
    try harm(how, installation.data.appending(path: "journal.sqlite-wal"))
    let ended = try daemon.command.finish(within: 20)
    #expect(ended.code == 3, "\(ended)")
    let line = ended.errors.split(separator: "\n").first { $0.contains("journal_failed") }
    #expect(line?.contains("\"level\":\"error\"") == true, "\(ended)")
    for words in ["answered events may be lost", "subledger recover"] {
      #expect(line?.contains(words) == true, "\(line ?? "")")
    }
    if how.isNameOnly { try expectAll(answered, installation) }
  }

  @Test func `it ends when journal.sqlite is renamed`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    let first = client.post(try installation.sign(Sample.notification(1)))
    #expect(first?.status == 200)
    let moved = installation.data.appending(path: "moved")
    try FileManager.default.moveItem(at: installation.journal, to: moved)
    if let answer = client.post(try installation.sign(Sample.notification(2))) {
      #expect(answer.status == 503 && answer.json?["code"]?.string == "journal")
    }
    let ended = try daemon.command.finish(within: 20)
    #expect(ended.code == 3 && ended.errors.contains("put the file back"), "\(ended)")
    try FileManager.default.moveItem(at: moved, to: installation.journal)
    try expectAll([Sample.uuid(1): 1], installation)
    // It ends within milliseconds: the next start tells the alarm.
    let again = try installation.start()
    let page = MetricsText(again.client().get("/metrics")?.text ?? "")
    let time = page.value("subledger_journal_failed_time_seconds")
    #expect(abs((time ?? 0) - Date().timeIntervalSince1970) < 60, "\(time ?? -1)")
  }

  /// Runs `post` on threads of their own, and `meanwhile` on this one, until all have ended.
  private func runWhilePosting(
    _ threads: Int, _ post: @escaping @Sendable (Int) -> Void, meanwhile: () throws -> Void
  ) throws {
    let done = DispatchGroup()
    for thread in 0..<threads {
      done.enter()
      Thread.detachNewThread {
        post(thread)
        done.leave()
      }
    }
    defer { done.wait() }
    try meanwhile()
  }
}
