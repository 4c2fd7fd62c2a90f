import Foundation
import Store
import StrictJSON
import Support
import Testing

@testable import Audit
@testable import Ledger

/// The daemon appends anchors by itself, and journals notifications also when that fails.
@Suite struct AnchorServiceTests {
  private func installation(
    _ file: String = "anchors", events: Int64 = 1000, minutes: Int64 = 60
  ) throws -> (Installation, URL) {
    let installation = try Installation()
    let url = installation.folder.appending(path: file)
    // A relative path starts at the folder of the configuration.
    try installation.configure(with: [
      (
        "anchors",
        .object([
          ("file", .string(file)), ("events", .integer(events)), ("minutes", .integer(minutes)),
        ])
      )
    ])
    return (installation, url)
  }

  private func post(_ numbers: ClosedRange<Int>, _ installation: Installation, _ client: Client)
    throws
  {
    for number in numbers {
      let body = try installation.sign(Sample.notification(number))
      #expect(client.post(body)?.status == 200)
    }
  }

  private func anchors(_ file: URL) -> [Int64] {
    let bytes = (try? Data(wholeOf: file)) ?? Data()
    return bytes.split(separator: 0x0A).map { Anchor(parsing: Array($0))?.seq ?? -1 }
  }

  private func count(_ event: String, _ daemon: RunningDaemon) -> Int {
    daemon.log.split(separator: "\n").count { $0.contains("\"event\":\"\(event)\"") }
  }

  @Test func `an anchor is appended after the configured events and at the end`() throws {
    let (installation, file) = try installation(events: 3)
    let daemon = try installation.start()
    let client = daemon.client()
    try post(1...1, installation, client)
    // The first event is anchored at once, because there was no anchor before.
    try daemon.command.wait(60, "the first anchor") { anchors(file) == [1] }
    try post(2...3, installation, client)
    Thread.sleep(forTimeInterval: 2.5)
    #expect(anchors(file) == [1])
    try post(4...4, installation, client)
    try daemon.command.wait(60, "an anchor of seq 4") { anchors(file) == [1, 4] }
    try post(5...5, installation, client)
    #expect(try daemon.stop().code == 0)
    #expect(anchors(file) == [1, 4, 5])
    let verified = try installation.run("verify")
    #expect(verified.code == 0 && verified.output.contains("3 anchors of"), "\(verified)")
    // If the head has not moved, no anchor is added.
    let again = try installation.start()
    Thread.sleep(forTimeInterval: 1.5)
    #expect(try again.stop().code == 0)
    #expect(anchors(file) == [1, 4, 5])
  }

  @Test func `an anchor is appended after the configured minutes if the head has moved`() throws {
    let (installation, file) = try installation(minutes: 10)
    try installation.fill(1...2)
    let folder = DataFolder(path: installation.data.path)
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    func anchored(minutesAgo minutes: Int64) throws {
      let anchor = try Anchor.make(
        of: folder, at: now - minutes * 60_000, by: try AnchorKey.readOrMake(folder))
      try Data(anchor.line + [0x0A]).write(to: file)
    }
    try anchored(minutesAgo: 11)
    var daemon = try installation.start()
    Thread.sleep(forTimeInterval: 1.5)
    #expect(anchors(file) == [2], "time alone does not move the head")
    try post(3...3, installation, daemon.client())
    try daemon.command.wait(60, "an anchor of seq 3") { anchors(file) == [2, 3] }
    try daemon.crash()
    try anchored(minutesAgo: 8)
    daemon = try installation.start()
    try post(4...4, installation, daemon.client())
    Thread.sleep(forTimeInterval: 2.5)
    #expect(anchors(file) == [3])
    try daemon.crash()
    #expect(anchors(file) == [3], "a crash appends no anchor")
  }

  @Test func `a missing volume is logged once and used again when it is back`() throws {
    let (installation, file) = try installation("volume/anchors", events: 1)
    let daemon = try installation.start()
    let client = daemon.client()
    try post(1...1, installation, client)
    try daemon.command.wait(60, "a failure") { count("anchors_failed", daemon) == 1 }
    for number in 2...8 {
      try post(number...number, installation, client)
      Thread.sleep(forTimeInterval: 1)
    }
    #expect(count("anchors_failed", daemon) == 1, "\(daemon.log)")
    try daemon.logged("it is tried again")
    let volume = file.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: volume, withIntermediateDirectories: true)
    try daemon.command.wait(60, "the volume to be used") {
      count("anchors_resumed", daemon) == 1
    }
    #expect(anchors(file) == Array(1...8), "no event is left out")
    // Removed again for good: the daemon still ends in good order.
    try FileManager.default.removeItem(at: volume)
    try post(9...9, installation, client)
    try daemon.command.wait(60, "a second failure") { count("anchors_failed", daemon) == 2 }
    #expect(try daemon.stop().code == 0)
    #expect(count("anchors_failed", daemon) == 2)
    let verified = try installation.run("verify")
    #expect(verified.code == 1 && verified.output.contains("is missing"), "\(verified)")
  }

  @Test func `a key that others can read is refused until its mode is corrected`() throws {
    let (installation, file) = try installation(events: 1)
    #expect(try installation.run("anchor", "--public-key").code == 0)
    let key = installation.data.appending(path: "anchor.key").path
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
    let daemon = try installation.start()
    try post(1...1, installation, daemon.client())
    // One for the file in the folder, and one for that of the configuration.
    try daemon.command.wait(60, "a failure") { count("anchors_failed", daemon) == 2 }
    try daemon.logged("chmod 600")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    try daemon.command.wait(60, "an anchor") { anchors(file) == [1] }
    try daemon.stop()
  }

  @Test func `a journal shorter than its last anchor is reported at the start`() throws {
    let (installation, file) = try installation(events: 1)
    try installation.fill(1...3)
    #expect(try installation.run("anchor", "--append", file.path).code == 0)
    try installation.cut(after: 2)
    let daemon = try installation.start()
    try daemon.command.wait(60, "the loss to be noticed") { count("anchors_ahead", daemon) == 1 }
    try post(4...5, installation, daemon.client())
    try daemon.stop()
    let verified = try installation.run("verify")
    #expect(verified.firstLine.hasPrefix("promise 5 broken at seq 3:"), "\(verified)")
  }

  // MARK: Schedule and settings

  @Test func `the schedule is due by events, by minutes and at the end`() {
    var schedule = AnchorSchedule(Configuration.Anchors(file: "x", events: 10, minutes: 5))
    func isDue(_ seq: Int64, at now: Int64, isLast: Bool = false) -> Bool {
      schedule.due(seq, at: now, isLast: isLast) == [seq]
    }
    #expect(!isDue(0, at: 0) && !isDue(0, at: 0, isLast: true))
    #expect(isDue(1, at: 0))
    schedule.record(1, at: 1_000_000)
    #expect(!isDue(10, at: 1_000_000) && isDue(11, at: 1_000_000))
    #expect(!isDue(2, at: 1_299_999) && isDue(2, at: 1_300_000))
    #expect(!isDue(1, at: 9_000_000) && !isDue(1, at: 9_000_000, isLast: true))
    #expect(isDue(2, at: 1_000_000, isLast: true))
    // A clock that was set back must not delay the next anchor.
    #expect(isDue(2, at: 999_999) && !isDue(1, at: 999_999))
  }

  @Test(arguments: [
    ("[]", "anchors: is not an object"), ("{}", "file is missing"),
    ("{\"file\":\"\"}", "file is not a string"),
    ("{\"file\":7}", "file is not a string"),
    ("{\"file\":\"x\",\"event\":1}", "unknown key \"event\""),
    ("{\"file\":\"x\",\"events\":0}", "events is not an integer from 1 to 1000000000"),
    ("{\"file\":\"x\",\"events\":\"9\"}", "events is not an integer"),
    ("{\"file\":\"x\",\"minutes\":525601}", "minutes is not an integer from 1 to 525600"),
    ("{\"file\":\"x\",\"minutes\":1.5}", "minutes is not an integer"),
  ])
  func `impossible anchor settings are refused and named`(text: String, message: String) throws {
    let installation = try Installation()
    let value = try JSONDocument(parsing: Array(text.utf8)).root.value
    try installation.configure(with: [("anchors", value)])
    let finished = try installation.run("serve")
    #expect(finished.code == 2 && finished.errors.contains(message), "\(finished)")
  }

  @Test func `an anchors file in the data folder is a warning`() throws {
    let installation = try Installation()
    let file = installation.data.path + "/anchors"
    try installation.configure(with: [("anchors", .object([("file", .string(file))]))])
    let daemon = try installation.start()
    #expect(count("anchors_beside_data", daemon) == 1)
    try daemon.stop()
  }
}
