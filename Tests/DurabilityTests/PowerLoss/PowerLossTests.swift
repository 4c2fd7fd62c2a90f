import Foundation
import JournalStore
import LedgerEngine
import Observability
import Support
import Synchronization
import Testing

/// Whatever the power does: what was answered is there, nothing else is, and the rows follow
/// (promises 1, 2, 4, 5, 7).
///
/// SUBLEDGER_IMAGES asks for more, SUBLEDGER_SEED for others.
@Suite(.serialized) struct PowerLossTests {
  static let environment = ProcessInfo.processInfo.environment
  static let images = environment["SUBLEDGER_IMAGES"].flatMap { Int($0) } ?? 120
  static let scenes = PowerLossScene.all.filter { !$0.isLong || images >= 1_000 }
  static let seed = environment["SUBLEDGER_SEED"].flatMap { UInt64($0) } ?? 1

  init() { Log.isSilent.store(true, ordering: .relaxed) }

  static func look(
    _ recorded: Recorded, _ wanted: Int,
    also: (@Sendable (String, Bool) throws -> Void)? = nil
  ) throws -> Int {
    let start = Date()
    let trial = ImageTest(recorded: recorded, seed: seed, wanted: wanted, also: also)
    let outcome = try trial.run()
    let seconds = String(format: "%.1f", Date().timeIntervalSince(start))
    print(
      "power loss, \(recorded.name): \(outcome.images) images of \(recorded.moments.count) "
        + "operations, \(outcome.failures.count) failures, seed \(seed), \(seconds) s")
    fflush(nil)
    for failure in outcome.failures { Issue.record("\(failure)") }
    return outcome.images
  }

  @Test(arguments: scenes) func thePowerFails(_ scene: PowerLossScene) throws {
    let disk = try WatchedDisk()
    let mark = try scene.play(disk)
    disk.unwatch()
    let recorded = try Recorded(scene.name, disk, from: mark)
    let images = try Self.look(recorded, Self.images * scene.share / 1000, also: scene.also)
    #expect(images > 0)
    withExtendedLifetime(disk) {}
  }

  /// One sync fails, the daemon ends, the next one starts on what the kernel believes is written,
  /// the sender comes again, and then the power goes.
  @Test func thePowerFailsAfterASyncFailed() throws {
    let first = try WatchedDisk()
    var (number, images, isClean) = (1, 0, false)
    while !isClean {
      let disk = try WatchedDisk(first.installation.authority)
      isClean = try !disk.failASync(WatchedDisk.Fault(kind: "sync", number: number))
      let recorded = try Recorded("after sync \(number) failed", disk)
      images += try Self.look(recorded, Self.images / 20)
      // Some of them, where not all are asked for.
      number += Self.images < 10_000 && !isClean ? 7 : 1
      withExtendedLifetime(disk) {}
    }
    print("power loss after a failed sync: \(images) images, \(number - 1) syncs")
  }

  /// What the copy of the -wal to a fresh inode is for: without it, what is answered after a sync
  /// that failed is lost, and rows are left half old by a checkpoint.
  @Test(arguments: [
    // Behind those of the start: some are of events, some of a checkpoint with nothing to lose.
    ("journal.sqlite-wal", 5...9), ("entitlements-1.sqlite-wal", 1...5),
  ]) func aWALThatIsGoneOnWithIsNoticed(_ wal: String, _ syncs: ClosedRange<Int>) throws {
    let isNoticed = try syncs.contains { number in
      let disk = try WatchedDisk()
      _ = try disk.failASync(WatchedDisk.Fault(kind: "sync", number: number, ending: wal))
      let recorded = try Recorded("a -wal that is gone on with", disk)
      let trial = ImageTest(
        recorded: recorded.with(recorded.trace.withoutFresh(wal)), seed: Self.seed, wanted: 1_000,
        keepsFailures: false)
      defer { withExtendedLifetime(disk) {} }
      return try trial.run().failures.isEmpty == false
    }
    #expect(isNoticed)
  }

  /// The trial sees what it is for: on a disk that does not sync what it says it synced, what was
  /// answered is lost, and so is a folder's change.
  @Test(arguments: ["journal.sqlite-wal", "journal.sqlite", "names"])
  func aDiskThatLiesIsNoticed(_ lie: String) throws {
    let disk = try WatchedDisk()
    let mark = try PowerLossScene.all[lie == "journal.sqlite-wal" ? 1 : 0].play(disk)
    disk.unwatch()
    var recorded = try Recorded("a lie about \(lie)", disk, from: mark)
    recorded = recorded.with(
      recorded.trace.lying { operation in
        switch operation {
        case .sync(let path, _): path.hasSuffix("/" + lie) || path.hasSuffix(lie + ".building")
        case .syncFolder: lie == "names"
        default: false
        }
      })
    let trial = ImageTest(
      recorded: recorded, seed: Self.seed, wanted: 2_000, keepsFailures: false)
    #expect(try trial.run().failures.isEmpty == false)
    withExtendedLifetime(disk) {}
  }

  /// `SUBLEDGER_IMAGE=<folder>:<moment>:<number>` makes an image of a kept trace again.
  @Test(.enabled(if: environment["SUBLEDGER_IMAGE"] != nil)) func oneImageAgain() throws {
    let words = (Self.environment["SUBLEDGER_IMAGE"] ?? "").split(separator: ":")
    try #require(words.count == 3)
    let recorded = try Recorded(folder: URL(filePath: String(words[0])))
    let (moment, number) = (try #require(Int(words[1])), try #require(Int(words[2])))
    let trial = ImageTest(recorded: recorded, seed: Self.seed, wanted: 1)
    let image = try trial.again(moment: moment, number: number)
    print("the image: \(image)")
    for (place, operation) in recorded.trace.operations.enumerated().suffix(200)
    where place <= moment { print(place, "\(operation)".prefix(120)) }
    let check = ImageCheck(
      configuration: recorded.configuration, received: recorded.received)
    try check.run(
      DataFolder(path: image + "/data"), answered: recorded.answered(before: moment),
      isDeep: true)
  }
}

extension WatchedDisk {
  /// A daemon on which a sync fails, and the next one, to which all is sent again.
  ///
  /// - Returns: whether the fault was met.
  func failASync(_ fault: Fault) throws -> Bool {
    let bodies = try sign(0..<10, customers: 3)
    try prepare(Array(bodies[..<3]))
    try describe()
    watch(fault)
    if let daemon = try? installation.startWithoutRows() {
      let client = daemon.client()
      for body in bodies[..<8] { _ = client.post(body) }
      daemon.command.signal(SIGTERM)
      try daemon.command.finish(within: 20)
    }
    let fired = hasFired
    watch()
    let daemon = try installation.start()
    try post(bodies, to: daemon)
    try daemon.crash()
    unwatch()
    return fired
  }

  /// A journal with these events, as a crash leaves it.
  func prepare(_ bodies: [[UInt8]]) throws {
    unwatch()
    let daemon = try installation.start()
    try post(bodies, to: daemon)
    try daemon.crash()
  }
}
