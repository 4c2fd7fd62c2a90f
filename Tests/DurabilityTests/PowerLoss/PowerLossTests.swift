import Foundation
import Ledger
import Platform
import Store
import Support
import Synchronization
import Testing

/// After a loss of power every event that was answered is in the journal, nothing that was not sent
/// is, and the projection follows from the journal (promises 1, 2, 4, 5, 7).
@Suite(.serialized) struct PowerLossTests {
  static let environment = ProcessInfo.processInfo.environment
  static let images = TestCount.images.number
  static let scenarios = PowerLossScenario.all.filter { !$0.isLong || images >= 1_000 }
  static let seed = TestSeed.number(usual: 1)

  init() { Log.isSilent.store(true, ordering: .relaxed) }

  static func checkImages(
    of recorded: RecordedRun, _ wanted: Int,
    resultCheck: (@Sendable (String, Bool) throws -> Void)? = nil
  ) throws -> Int {
    let start = Date()
    let test = ImageTest(recorded: recorded, seed: seed, wanted: wanted, resultCheck: resultCheck)
    let outcome = try test.run()
    let seconds = String(format: "%.1f", Date().timeIntervalSince(start))
    print(
      "power loss, \(recorded.name): \(outcome.images) images of \(recorded.cuts.count) "
        + "operations, \(outcome.failures.count) failures, seed \(seed), \(seconds) s")
    fflush(nil)
    for failure in outcome.failures { Issue.record("\(failure)") }
    return outcome.images
  }

  @Test(arguments: scenarios) func `a loss of power loses nothing that was answered`(
    _ scenario: PowerLossScenario
  ) throws {
    let disk = try InterceptedDisk()
    let mark = try scenario.run(disk)
    disk.stopIntercepting()
    let recorded = try RecordedRun(scenario.name, disk, from: mark)
    let images = try Self.checkImages(
      of: recorded, Self.images * scenario.share / 1000, resultCheck: scenario.resultCheck)
    #expect(images > 0)
    withExtendedLifetime(disk) {}
  }

  /// One sync fails, the daemon exits, the next one starts on what the kernel believes is written,
  /// everything is sent again, and then the power fails.
  @Test func `a loss of power after a failed sync loses nothing that was answered`() throws {
    let first = try InterceptedDisk()
    var (number, images, isClean) = (1, 0, false)
    while !isClean {
      let disk = try InterceptedDisk(first.installation.authority)
      isClean = try !disk.failASync(InterceptedDisk.Fault(kind: "sync", number: number))
      let recorded = try RecordedRun("after sync \(number) failed", disk)
      images += try Self.checkImages(of: recorded, Self.images / 20)
      // Only some syncs, unless a full run is requested.
      number += Self.images < 10_000 && !isClean ? 7 : 1
      withExtendedLifetime(disk) {}
    }
    print("power loss after a failed sync: \(images) images, \(number - 1) syncs")
  }

  /// Shows why the -wal is copied to a new inode: without the copy, events that are answered after
  /// a failed sync are lost, and a checkpoint leaves a projection partly old.
  @Test(arguments: [
    // The syncs after those of the start: some are of events, some of a checkpoint that loses
    // nothing.
    ("journal.sqlite-wal", 5...9), ("entitlements-4.sqlite-wal", 1...5),
  ]) func `a wal that is not copied is detected`(_ wal: String, _ syncs: ClosedRange<Int>) throws {
    let isDetected = try syncs.contains { number in
      let disk = try InterceptedDisk()
      _ = try disk.failASync(InterceptedDisk.Fault(kind: "sync", number: number, ending: wal))
      let recorded = try RecordedRun("a -wal that is not copied", disk)
      let test = ImageTest(
        recorded: recorded.with(recorded.trace.withoutFresh(wal)), seed: Self.seed, wanted: 1_000,
        preservesFailures: false)
      defer { withExtendedLifetime(disk) {} }
      return try test.run().failures.isEmpty == false
    }
    #expect(isDetected)
  }

  /// On a disk that reports a sync without doing it, events that were answered are lost, and so are
  /// names: the test must detect that.
  @Test(arguments: ["journal.sqlite-wal", "journal.sqlite", "names"])
  func `a disk that does not sync is detected`(_ unsynced: String) throws {
    let disk = try InterceptedDisk()
    let mark = try PowerLossScenario.all[unsynced == "journal.sqlite-wal" ? 1 : 0].run(disk)
    disk.stopIntercepting()
    var recorded = try RecordedRun("\(unsynced) is not synced", disk, from: mark)
    recorded = recorded.with(
      recorded.trace.dropping { operation in
        switch operation {
        case .sync(let path, _):
          path.hasSuffix("/" + unsynced) || path.hasSuffix(unsynced + ".building")
        case .syncFolder: unsynced == "names"
        default: false
        }
      })
    let test = ImageTest(
      recorded: recorded, seed: Self.seed, wanted: 2_000, preservesFailures: false)
    #expect(try test.run().failures.isEmpty == false)
    withExtendedLifetime(disk) {}
  }

  /// `SUBLEDGER_IMAGE=<folder>:<cut>:<number>` makes an image of a preserved trace again.
  @Test(.enabled(if: environment["SUBLEDGER_IMAGE"] != nil)) func `one image is reproduced`() throws
  {
    let parts = (Self.environment["SUBLEDGER_IMAGE"] ?? "").split(separator: ":")
    try #require(parts.count == 3)
    let recorded = try RecordedRun(folder: URL(filePath: String(parts[0])))
    let (cut, number) = (try #require(Int(parts[1])), try #require(Int(parts[2])))
    let test = ImageTest(recorded: recorded, seed: Self.seed, wanted: 1)
    let image = try test.reproduce(cut: cut, number: number)
    print("the image: \(image)")
    for (index, operation) in recorded.trace.operations.enumerated().suffix(200)
    where index <= cut { print(index, "\(operation)".prefix(120)) }
    let check = ImageCheck(
      configuration: recorded.configuration, received: recorded.received)
    try check.run(
      DataFolder(path: image + "/data"), answered: recorded.answered(before: cut),
      isDeep: true)
  }
}

extension InterceptedDisk {
  /// Runs a daemon on which a sync fails, and then another one, to which everything is sent again.
  ///
  /// - Returns: whether the fault occurred.
  func failASync(_ fault: Fault) throws -> Bool {
    let bodies = try sign(0..<10, customers: 3)
    try prepare(Array(bodies[..<3]))
    try describe()
    intercept(fault)
    if let daemon = try? installation.startWithoutProjection() {
      let client = daemon.client()
      for body in bodies[..<8] { _ = client.post(body) }
      daemon.command.signal(SIGTERM)
      try daemon.command.finish(within: 20)
    }
    let fired = hasFired
    intercept()
    let daemon = try installation.start()
    try post(bodies, to: daemon)
    try daemon.crash()
    stopIntercepting()
    return fired
  }

  /// Makes a journal with these events, as a crash leaves it.
  func prepare(_ bodies: [[UInt8]]) throws {
    stopIntercepting()
    let daemon = try installation.start()
    try post(bodies, to: daemon)
    try daemon.crash()
  }
}
