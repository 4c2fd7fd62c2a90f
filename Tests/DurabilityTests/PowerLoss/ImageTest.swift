import Foundation
import JournalStore
import LedgerEngine
import Support
import Synchronization

/// Cuts the power at every moment of a trace, and looks at what is left.
struct ImageTest: Sendable {
  let recorded: Recorded
  let seed: UInt64
  /// How many to look at: the plain ones of every moment first, then drawn ones, in rounds.
  let wanted: Int
  /// Whether the trace of a failure stays, so that it can be made again.
  var keepsFailures = true
  /// Whether a command's result is looked at, too, and is there once all is done.
  var also: (@Sendable (_ image: String, _ isDone: Bool) throws -> Void)?

  /// A disk that lost its power: enough to make it again.
  struct Failure: Sendable, CustomStringConvertible {
    let moment: Int
    let number: Int
    let plan: String
    let what: String
    let kept: String

    var description: String {
      """
      \(what)
        before operation \(moment), image \(number): \(plan)
        again: SUBLEDGER_IMAGE=\(kept):\(moment):\(number)
      """
    }
  }

  struct Outcome: Sendable {
    var images = 0
    var failures: [Failure] = []
  }

  /// Images of a moment in one round: in the first, the plain ones.
  private static let round = 5
  private static let threads = 2
  private static let failuresKept = 3

  /// Looks on two threads until enough was seen, hardly anything new is drawn, or three failed.
  func run() throws -> Outcome {
    let shared = Shared()
    let trial = self
    let moments = moments
    var first = 0
    while true {
      let before = shared.images
      // Fewer moments where all of them would be too many, and always the last.
      let stride = max(1, moments.count * Self.round / max(1, wanted - before))
      let last = (moments.count - 1) % stride
      let cuts = moments.enumerated().filter { $0.offset % stride == last }.map(\.element)
      let numbers = first..<first + Self.round
      together(Self.threads) { thread in
        do {
          try trial.replay(cuts, numbers, part: thread, shared)
        } catch {
          shared.note("\(error)")
        }
      }
      try shared.check()
      let found = shared.images - before
      if shared.images >= wanted || found * 50 < cuts.count || shared.failures >= 3 { break }
      first += Self.round
    }
    return shared.outcome.withLock { $0 }
  }

  private final class Shared: Sendable {
    let outcome = Mutex(Outcome())
    let seen = Mutex<Set<UInt64>>([])
    private let trouble = Mutex<String?>(nil)

    var images: Int { outcome.withLock { $0.images } }
    var failures: Int { outcome.withLock { $0.failures.count } }
    func note(_ what: String) { trouble.withLock { $0 = what } }
    func check() throws { if let what = trouble.withLock({ $0 }) { throw Trouble(what) } }
  }

  private func seed(_ moment: Int, _ number: Int) -> UInt64 {
    var chance = DiskChance(seed ^ UInt64(moment) << 20 ^ UInt64(number))
    return chance.next()
  }

  /// The moments worth a cut: right before the disk changes, and the end.
  private var moments: [Int] {
    let operations = recorded.trace.operations
    return recorded.moments.filter {
      $0 == operations.count || operations[$0].changesDisk
    }
  }

  private func replay(
    _ moments: [Int], _ numbers: Range<Int>, part: Int, _ shared: Shared
  ) throws {
    let disk = ModelDisk(rootPath: recorded.root)
    var done = 0
    for (count, moment) in moments.enumerated() {
      for operation in recorded.trace.operations[done..<moment] { try disk.apply(operation) }
      done = moment
      guard count % Self.threads == part else { continue }
      let answered = recorded.answered(before: moment)
      for number in numbers {
        guard shared.failures < Self.failuresKept else { return }
        try look(disk, moment, number, answered, shared)
      }
    }
  }

  private func look(
    _ disk: ModelDisk, _ moment: Int, _ number: Int, _ answered: [Int64: String],
    _ shared: Shared
  ) throws {
    let plan = ImagePlan(number: number, seed: seed(moment, number))
    let image = DiskImage(of: disk, plan)
    // The same disk is another case once more has been answered.
    let identity = image.number ^ UInt64(answered.count) &* 0x9E37_79B9
    guard shared.seen.withLock({ $0.insert(identity).inserted }) else { return }
    let place = try ImageFolder()
    try image.write(to: place.path)
    let isDeep = shared.outcome.withLock { outcome in
      outcome.images += 1
      return outcome.images % 64 == 0
    }
    do {
      try also?(place.path, moment == recorded.trace.operations.count)
      try check.run(DataFolder(path: place.path + "/data"), answered: answered, isDeep: isDeep)
    } catch {
      let failure = Failure(
        moment: moment, number: number, plan: "\(plan)", what: "\(recorded.name): \(error)",
        kept: keepsFailures ? recorded.keep() : "not kept")
      shared.outcome.withLock { $0.failures.append(failure) }
    }
  }

  private var check: ImageCheck {
    ImageCheck(configuration: recorded.configuration, received: recorded.received)
  }

  /// Makes one image again, of a trace that was kept, into a folder that stays.
  func again(moment: Int, number: Int) throws -> String {
    let disk = ModelDisk(rootPath: recorded.root)
    for operation in recorded.trace.operations[..<moment] { try disk.apply(operation) }
    let plan = ImagePlan(number: number, seed: seed(moment, number))
    let path = NSTemporaryDirectory() + "/subledger-image-\(UUID().uuidString)"
    mkdir(path, 0o700)
    try DiskImage(of: disk, plan).write(to: path)
    return path
  }
}

/// A folder for one image, in memory where the machine offers that.
final class ImageFolder {
  let path: String

  init() throws {
    let memory = "/dev/shm"
    let parent =
      FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
    path = parent + "/subledger-image-" + UUID().uuidString
    guard mkdir(path, 0o700) == 0 else { throw Trouble("mkdir \(path): \(errno)") }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
