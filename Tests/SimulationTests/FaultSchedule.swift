import Support

/// The plan of one simulated history: what Apple sends, and which faults occur. It is made from a
/// seed. Any part can be left out, and the rest is still a valid schedule.
struct FaultSchedule: Sendable {
  /// The result of one delivery attempt.
  enum Fate: Equatable, Sendable {
    case arrives
    /// The request does not arrive.
    case isLost
    /// The request is answered, but Apple does not receive the answer.
    case answerIsLost
    /// A proxy sends the request twice at the same time.
    case arrivesTwice
  }

  struct Post: Sendable {
    /// Index in `Fixtures.items`.
    var item: Int
    /// The first attempt, in hours after the beginning.
    var sentAt: Int64
    /// The results of the attempts. Later attempts arrive.
    var fates: [Fate]
  }

  /// A fault in a step, at the n-th operation of its kind on a kind of file.
  struct Fault: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
      case writeFails, syncFails
      /// No write succeeds in this step and in this number of further steps.
      case diskIsFull(steps: Int)
      /// The process ends at this operation, with the files as they are.
      case crash
    }
    var kind: Kind
    var file: FaultyFiles.FileKind
    /// Counts from 0.
    var number: Int
  }

  enum Action: Equatable, Sendable {
    /// Time passes, and due delivery attempts are made.
    case pass(hours: Int64)
    /// The writer processes the waiting submissions.
    case work
    /// The projection is prepared, which a daemon does on a separate thread after a start.
    case prepareProjection(isInterrupted: Bool)
    /// The process ends between two steps. Each fault occurs in one start; the last start has none.
    case crash([Fault])
    /// The daemon is stopped and started again.
    case stop([Fault])
    /// Our clock is changed by a number of milliseconds.
    case setClock(Int64)
    /// A projection is built beside the live one; the writer may work meanwhile.
    case build(isFromScratch: Bool, isInterrupted: Bool, meanwhile: Bool)
    case adopt
    case refold(String)
    /// The projections are deleted while no ledger runs.
    case deleteProjection(listToo: Bool)
  }

  struct Step: Equatable, Sendable {
    var action: Action
    var fault: Fault?
  }

  var posts: [Post]
  var steps: [Step]
}

extension FaultSchedule {
  // MARK: Random schedules

  /// The duration of faults in hours. Apple's last attempt for V2 is after 157 hours, that for V1
  /// after 78.
  private static let length: Int64 = 140
  private static let lastOfV1: Int64 = 70

  init(seed: UInt64, _ fixtures: Fixtures) {
    var chance = SplitMix64(seed: seed)
    var items: Set<Int> = []
    let count = Int(chance.below(6)) + 2
    while items.count < count { items.insert(Int(chance.below(Int64(fixtures.items.count)))) }
    if chance.once(in: 6) { items.formUnion(chance.pick(fixtures.conflicts)) }
    posts = items.sorted().map { item in
      let sentAt =
        fixtures.items[item].isV1 ? Self.length - chance.below(Self.lastOfV1) : chance.below(60)
      let fates = (0..<chance.below(5)).map { _ in Self.fate(&chance) }
      // A notification that is lost every time cannot be journaled, so the last attempt arrives.
      return Post(
        item: item, sentAt: sentAt, fates: fates.dropLast(fixtures.items[item].isV1 ? 1 : 0))
    }
    steps = []
    var hours: Int64 = 0
    for _ in 0..<chance.below(30) + 10 {
      var step = Step(action: Self.action(&chance))
      if case .pass(let more) = step.action {
        step.action = .pass(hours: min(more, Self.length - hours))
        hours += min(more, Self.length - hours)
      }
      if Self.canFail(step.action), chance.once(in: 4) { step.fault = Self.fault(&chance) }
      steps.append(step)
    }
  }

  private static func fate(_ chance: inout SplitMix64) -> Fate {
    chance.pick([.arrives, .arrives, .isLost, .answerIsLost, .arrivesTwice])
  }

  private static func fault(_ chance: inout SplitMix64) -> Fault {
    Fault(
      kind: chance.pick([
        .writeFails, .syncFails, .diskIsFull(steps: Int(chance.below(4))), .crash, .crash,
      ]),
      file: chance.pick([.journal, .journal, .projection]),
      number: Int(chance.below(chance.pick([2, 8, 40]))))
  }

  private static func canFail(_ action: Action) -> Bool {
    switch action {
    case .work, .prepareProjection: true
    default: false
    }
  }

  private static func faults(_ chance: inout SplitMix64) -> [Fault] {
    (0..<chance.pick([0, 0, 0, 1, 2, 4])).map { _ in fault(&chance) }
  }

  private static func action(_ chance: inout SplitMix64) -> Action {
    switch chance.below(100) {
    case 0..<34: return .pass(hours: chance.pick([0, 0, 1, 1, 2, 6, 12, 24, 48]))
    case 34..<64: return .work
    case 64..<72: return .prepareProjection(isInterrupted: chance.once(in: 5))
    case 72..<77: return .crash(faults(&chance))
    case 77..<80: return .stop(faults(&chance))
    case 80..<85:
      let spans: [Int64] = [1_000, 90_000, 3_600_000, 40 * 86_400_000, 31_536_000_000]
      return .setClock(chance.pick(spans) * (chance.once(in: 2) ? 1 : -1))
    case 85..<90:
      return .build(
        isFromScratch: chance.once(in: 2), isInterrupted: chance.once(in: 4),
        meanwhile: chance.once(in: 2))
    case 90..<96: return .adopt
    case 96..<98: return .refold(chance.pick(["1000", "1001", "1002", "1003", "none"]))
    default: return .deleteProjection(listToo: chance.once(in: 2))
    }
  }

  // MARK: Shrinking

  /// All schedules with one part less than this one.
  var simpler: [FaultSchedule] {
    var found: [FaultSchedule] = []
    for index in steps.indices { found.append(changed { $0.steps.remove(at: index) }) }
    for index in posts.indices { found.append(changed { $0.posts.remove(at: index) }) }
    for index in steps.indices where steps[index].fault != nil {
      found.append(changed { $0.steps[index].fault = nil })
    }
    for index in steps.indices {
      switch steps[index].action {
      case .crash(let faults) where !faults.isEmpty:
        found.append(changed { $0.steps[index].action = .crash([]) })
      case .stop(let faults) where !faults.isEmpty:
        found.append(changed { $0.steps[index].action = .stop([]) })
      default: break
      }
    }
    for post in posts.indices {
      for attempt in posts[post].fates.indices where posts[post].fates[attempt] != .arrives {
        found.append(changed { $0.posts[post].fates[attempt] = .arrives })
      }
    }
    return found
  }

  private func changed(_ change: (inout FaultSchedule) -> Void) -> FaultSchedule {
    var copy = self
    change(&copy)
    return copy
  }

  /// The smallest schedule for which `isBroken` returns true, found by leaving out one part at a
  /// time.
  func shrunk(_ isBroken: (FaultSchedule) -> Bool) -> FaultSchedule {
    var smallest = self
    var shouldContinue = true
    while shouldContinue {
      shouldContinue = false
      if let less = smallest.simpler.first(where: isBroken) {
        smallest = less
        shouldContinue = true
      }
    }
    return smallest
  }

  func description(_ fixtures: Fixtures) -> String {
    let posts = posts.map { post in
      "  Apple sends \(fixtures.items[post.item].name) at +\(post.sentAt) h: \(post.fates)"
    }
    let steps = steps.map { step in
      "  \(step.action)" + (step.fault.map { ", with \($0)" } ?? "")
    }
    return (posts + steps).joined(separator: "\n")
  }
}
