import Foundation
import Ledger
import Store
import Support
import Synchronization

/// Cuts the power at every operation of a trace, and checks the disks that may result.
struct ImageTest: Sendable {
  let recorded: RecordedRun
  let seed: UInt64
  /// How many images to check: in rounds, the fixed plans of every cut first, then drawn ones.
  let wanted: Int
  /// Whether the trace of a failure is preserved, so that it can be reproduced.
  var preservesFailures = true
  /// Checks a command's result in an image. `isDone` tells whether the command had succeeded.
  var resultCheck: (@Sendable (_ image: String, _ isDone: Bool) throws -> Void)?

  /// A failed image, with what is needed to reproduce it.
  struct Failure: Sendable, CustomStringConvertible {
    let cut: Int
    let number: Int
    let plan: String
    let what: String
    /// The folder with the preserved trace.
    let trace: String

    var description: String {
      """
      \(what)
        before operation \(cut), image \(number): \(plan)
        reproduce: SUBLEDGER_IMAGE=\(trace):\(cut):\(number)
      """
    }
  }

  struct Outcome: Sendable {
    var images = 0
    var failures: [Failure] = []
  }

  /// Images of a cut in one round: in the first round, those of the fixed plans.
  private static let imagesPerRound = 5
  private static let threads = 2
  private static let maximumFailures = 3

  /// Checks images on two threads, until there are enough, or hardly any new ones, or three failed.
  func run() throws -> Outcome {
    let shared = Shared()
    let test = self
    let cuts = cuts
    var first = 0
    while true {
      let before = shared.images
      // Not every cut if there are too many, but always the last one.
      let stride = max(1, cuts.count * Self.imagesPerRound / max(1, wanted - before))
      let last = (cuts.count - 1) % stride
      let selected = cuts.enumerated().filter { $0.offset % stride == last }.map(\.element)
      let numbers = first..<first + Self.imagesPerRound
      runConcurrently(Self.threads) { thread in
        do {
          try test.replay(selected, numbers, part: thread, shared)
        } catch {
          shared.record("\(error)")
        }
      }
      try shared.check()
      let found = shared.images - before
      if shared.images >= wanted || found * 50 < selected.count || shared.failures >= 3 { break }
      first += Self.imagesPerRound
    }
    return shared.outcome.withLock { $0 }
  }

  private final class Shared: Sendable {
    let outcome = Mutex(Outcome())
    let seen = Mutex<Set<UInt64>>([])
    private let error = Mutex<String?>(nil)

    var images: Int { outcome.withLock { $0.images } }
    var failures: Int { outcome.withLock { $0.failures.count } }
    func record(_ what: String) { error.withLock { $0 = what } }
    func check() throws { if let what = error.withLock({ $0 }) { throw TestFailure(what) } }
  }

  private func seed(_ cut: Int, _ number: Int) -> UInt64 {
    var chance = SplitMix64(seed: seed ^ UInt64(cut) << 20 ^ UInt64(number))
    return chance.next()
  }

  /// The cuts that can make a difference: right before the disk changes, and at the end.
  private var cuts: [Int] {
    let operations = recorded.trace.operations
    return recorded.cuts.filter {
      $0 == operations.count || operations[$0].changesDisk
    }
  }

  private func replay(
    _ cuts: [Int], _ numbers: Range<Int>, part: Int, _ shared: Shared
  ) throws {
    let disk = ModelDisk(rootPath: recorded.root)
    var done = 0
    for (count, cut) in cuts.enumerated() {
      for operation in recorded.trace.operations[done..<cut] { try disk.apply(operation) }
      done = cut
      guard count % Self.threads == part else { continue }
      let answered = recorded.answered(before: cut)
      for number in numbers {
        guard shared.failures < Self.maximumFailures else { return }
        try check(disk, cut, number, answered, shared)
      }
    }
  }

  private func check(
    _ disk: ModelDisk, _ cut: Int, _ number: Int, _ answered: [Int64: String],
    _ shared: Shared
  ) throws {
    let plan = ImagePlan(number: number, seed: seed(cut, number))
    let image = DiskImage(of: disk, plan)
    // An equal disk must be checked again once more was answered.
    let identity = image.hash ^ UInt64(answered.count) &* 0x9E37_79B9
    guard shared.seen.withLock({ $0.insert(identity).inserted }) else { return }
    let folder = try Scratch()
    try image.write(to: folder.path)
    let isDeep = shared.outcome.withLock { outcome in
      outcome.images += 1
      return outcome.images % 64 == 0
    }
    do {
      try resultCheck?(folder.path, cut == recorded.trace.operations.count)
      try imageCheck.run(
        DataFolder(path: folder.path + "/data"), answered: answered, isDeep: isDeep)
    } catch {
      let failure = Failure(
        cut: cut, number: number, plan: "\(plan)", what: "\(recorded.name): \(error)",
        trace: preservesFailures ? recorded.preserve() : "not preserved")
      shared.outcome.withLock { $0.failures.append(failure) }
    }
  }

  private var imageCheck: ImageCheck {
    ImageCheck(configuration: recorded.configuration, received: recorded.received)
  }

  /// Makes one image of a preserved trace again, in a folder that is not removed.
  func reproduce(cut: Int, number: Int) throws -> String {
    let disk = ModelDisk(rootPath: recorded.root)
    for operation in recorded.trace.operations[..<cut] { try disk.apply(operation) }
    let plan = ImagePlan(number: number, seed: seed(cut, number))
    let path = NSTemporaryDirectory() + "/subledger-image-\(UUID().uuidString)"
    mkdir(path, 0o700)
    try DiskImage(of: disk, plan).write(to: path)
    return path
  }
}
