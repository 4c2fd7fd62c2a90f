import Support

/// One history before it happens: what Apple has to send, and what befalls the ledger meanwhile.
/// Made from a seed; any part of it can be left out, and the rest still makes sense.
struct FaultSchedule: Sendable {
  /// What becomes of one attempt to deliver.
  enum Fate: Equatable, Sendable {
    case arrives
    /// The request never gets to us.
    case isLost
    /// We answer, and Apple does not hear it.
    case answerIsLost
    /// A proxy sends it twice: both are in flight at once.
    case comesTwice
  }

  struct Post: Sendable {
    /// Which of `Fixtures.items`.
    var item: Int
    /// Hours after the beginning.
    var born: Int64
    /// By attempt; those past the end arrive.
    var fates: [Fate]
  }

  /// What goes wrong in a step, at the n-th write or sync of one of its files.
  struct Fault: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
      case writeFails, syncFails
      /// No write succeeds in this step and so many after it.
      case diskIsFull(steps: Int)
      /// The process ends right there: the files stay as they are.
      case crash
    }
    var kind: Kind
    var room: FaultyFiles.Room
    var number: Int
  }

  enum Action: Equatable, Sendable {
    /// Time passes, and what is due arrives at the door.
    case pass(hours: Int64)
    /// The writer takes what waits.
    case work
    /// What a start does about rows on a thread of its own.
    case prepareProjection(isCutOff: Bool)
    /// The process ends between two steps. Each fault meets a start; the last start meets none.
    case crash([Fault])
    /// The daemon is asked to end, and started again.
    case stop([Fault])
    /// Our clock is set, by milliseconds.
    case setClock(Int64)
    /// Rows are built beside the live ones; the writer may work meanwhile.
    case build(isFromScratch: Bool, isCutOff: Bool, meanwhile: Bool)
    case adopt, rollBack, prune
    case refold(String)
    /// Somebody deletes the rows while nothing runs.
    case loseRows(listToo: Bool)
  }

  struct Step: Equatable, Sendable {
    var action: Action
    var fault: Fault?
  }

  var posts: [Post]
  var steps: [Step]
}

extension FaultSchedule {
  // MARK: By chance

  /// Hours that the trouble lasts at most: Apple's last attempt comes after 157, V1's after 78.
  private static let length: Int64 = 140
  private static let lastOfV1: Int64 = 70

  init(seed: UInt64, _ mail: Fixtures) {
    var chance = Chance(seed: seed)
    var items: Set<Int> = []
    let count = Int(chance.below(6)) + 2
    while items.count < count { items.insert(Int(chance.below(Int64(mail.items.count)))) }
    if chance.once(in: 6) { items.formUnion(chance.pick(mail.conflicts)) }
    posts = items.sorted().map { item in
      let born =
        mail.items[item].isV1 ? Self.length - chance.below(Self.lastOfV1) : chance.below(60)
      let fates = (0..<chance.below(5)).map { _ in Self.fate(&chance) }
      // What is lost every time nobody can journal: the last attempt arrives.
      return Post(item: item, born: born, fates: fates.dropLast(mail.items[item].isV1 ? 1 : 0))
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

  private static func fate(_ chance: inout Chance) -> Fate {
    chance.pick([.arrives, .arrives, .isLost, .answerIsLost, .comesTwice])
  }

  private static func fault(_ chance: inout Chance) -> Fault {
    Fault(
      kind: chance.pick([
        .writeFails, .syncFails, .diskIsFull(steps: Int(chance.below(4))), .crash, .crash,
      ]),
      room: chance.pick([.journal, .journal, .rows]),
      number: Int(chance.below(chance.pick([2, 8, 40]))))
  }

  private static func canFail(_ action: Action) -> Bool {
    switch action {
    case .work, .prepareProjection: true
    default: false
    }
  }

  private static func faults(_ chance: inout Chance) -> [Fault] {
    (0..<chance.pick([0, 0, 0, 1, 2, 4])).map { _ in fault(&chance) }
  }

  private static func action(_ chance: inout Chance) -> Action {
    switch chance.below(100) {
    case 0..<34: return .pass(hours: chance.pick([0, 0, 1, 1, 2, 6, 12, 24, 48]))
    case 34..<64: return .work
    case 64..<72: return .prepareProjection(isCutOff: chance.once(in: 5))
    case 72..<77: return .crash(faults(&chance))
    case 77..<80: return .stop(faults(&chance))
    case 80..<85:
      let spans: [Int64] = [1_000, 90_000, 3_600_000, 40 * 86_400_000, 31_536_000_000]
      return .setClock(chance.pick(spans) * (chance.once(in: 2) ? 1 : -1))
    case 85..<90:
      return .build(
        isFromScratch: chance.once(in: 2), isCutOff: chance.once(in: 4),
        meanwhile: chance.once(in: 2))
    case 90..<93: return .adopt
    case 93..<95: return .rollBack
    case 95..<96: return .prune
    case 96..<98: return .refold(chance.pick(["1000", "1001", "1002", "1003", "none"]))
    default: return .loseRows(listToo: chance.once(in: 2))
    }
  }

  // MARK: Less of it

  /// All courses that are a little simpler than this one.
  var simpler: [FaultSchedule] {
    var found: [FaultSchedule] = []
    for place in steps.indices { found.append(changed { $0.steps.remove(at: place) }) }
    for place in posts.indices { found.append(changed { $0.posts.remove(at: place) }) }
    for place in steps.indices where steps[place].fault != nil {
      found.append(changed { $0.steps[place].fault = nil })
    }
    for place in steps.indices {
      switch steps[place].action {
      case .crash(let faults) where !faults.isEmpty:
        found.append(changed { $0.steps[place].action = .crash([]) })
      case .stop(let faults) where !faults.isEmpty:
        found.append(changed { $0.steps[place].action = .stop([]) })
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
    var course = self
    change(&course)
    return course
  }

  /// The smallest that is still broken, found by leaving out one thing at a time.
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

  func description(_ mail: Fixtures) -> String {
    let posts = posts.map { post in
      "  Apple sends \(mail.items[post.item].name) at +\(post.born) h: \(post.fates)"
    }
    let steps = steps.map { step in
      "  \(step.action)" + (step.fault.map { ", with \($0)" } ?? "")
    }
    return (posts + steps).joined(separator: "\n")
  }
}
