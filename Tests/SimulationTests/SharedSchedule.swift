import Support

/// The plan of one simulated history of two daemons on one shared journal.
struct SharedSchedule: Sendable {
  enum Action: Equatable, Sendable {
    /// A load balancer hands Apple's notification to one of the daemons.
    case deliver(item: Int, daemon: Int)
    /// The owner claims a purchase for an account, or forgets the account.
    case claim(number: Int, daemon: Int)
    case erase(account: Int, daemon: Int)
    /// The operator drops the oldest notification in quarantine.
    case drop(daemon: Int)
    /// The writer serves what waits.
    case work(daemon: Int)
    /// The writer looks at the shared journal.
    case poll(daemon: Int)
    case prepareProjection(daemon: Int)
    /// The process ends, and starts again.
    case crash(daemon: Int)
    case stop(daemon: Int)
    /// The folder is emptied, or replaced by an older copy of it.
    case wipe(daemon: Int)
    case save(daemon: Int)
    case restore(daemon: Int)
    /// A standby takes over that lacks what was not said to be durable.
    case failOver
    /// The shared journal loses its last commits, as with an asynchronous standby.
    case forget(commits: Int)
    /// The shared journal cannot be reached, or can be again.
    case setDown(Bool)
  }

  struct Step: Equatable, Sendable {
    var action: Action
    var faults: [SharedJournalServer.Fault] = []
  }

  var steps: [Step]
  /// Whether a write is given up at its first failure, so that it is answered 503.
  var isImpatient: Bool

  static let accounts = 2

  init(seed: UInt64, _ fixtures: Fixtures) {
    var chance = SplitMix64(seed: seed)
    isImpatient = chance.once(in: 3)
    // What an operator wipes or restores after a loss was lost by him.
    let forgets = chance.once(in: 2)
    let items =
      (0..<6).map { _ in Int(chance.below(Int64(fixtures.items.count))) }
      + (chance.once(in: 3) ? chance.pick(fixtures.conflicts) : [])
    var saved: Set<Int> = []
    steps = []
    for _ in 0..<chance.below(40) + 10 {
      let daemon = Int(chance.below(2))
      var step = Step(action: .work(daemon: daemon))
      switch chance.below(100) {
      case 0..<34: step.action = .deliver(item: chance.pick(items), daemon: daemon)
      case 34..<40: step.action = .claim(number: Int(chance.below(4)), daemon: daemon)
      case 40..<42:
        step.action = .erase(account: Int(chance.below(Int64(Self.accounts))), daemon: daemon)
      case 42..<44: step.action = .drop(daemon: daemon)
      case 44..<64: break
      case 64..<72: step.action = .poll(daemon: daemon)
      case 72..<77: step.action = .prepareProjection(daemon: daemon)
      case 77..<82: step.action = .crash(daemon: daemon)
      case 82..<85: step.action = .stop(daemon: daemon)
      case 85..<87: step.action = forgets ? step.action : .wipe(daemon: daemon)
      case 87..<89:
        step.action = .save(daemon: daemon)
        saved.insert(daemon)
      case 89..<91:
        if !forgets, saved.contains(daemon) { step.action = .restore(daemon: daemon) }
      case 91..<94: step.action = .failOver
      case 94..<96: step.action = .setDown(chance.once(in: 2))
      default: if forgets { step.action = .forget(commits: Int(chance.below(4)) + 1) }
      }
      if chance.once(in: 3) {
        step.faults = (0..<chance.below(3) + 1).map { _ in
          chance.pick(SharedJournalServer.Fault.allCases)
        }
      }
      steps.append(step)
    }
  }

  /// All schedules with one part less than this one.
  var simpler: [SharedSchedule] {
    var found: [SharedSchedule] = []
    for index in steps.indices {
      var copy = self
      copy.steps.remove(at: index)
      found.append(copy)
    }
    for index in steps.indices where !steps[index].faults.isEmpty {
      var copy = self
      copy.steps[index].faults.removeLast()
      found.append(copy)
    }
    return found
  }

  func shrunk(_ isBroken: (SharedSchedule) -> Bool) -> SharedSchedule {
    var smallest = self
    while let less = smallest.simpler.first(where: isBroken) { smallest = less }
    return smallest
  }

  func description(_ fixtures: Fixtures) -> String {
    let lines = steps.map { step in
      "  \(step.action)" + (step.faults.isEmpty ? "" : ", with \(step.faults)")
    }
    return (["  impatient: \(isImpatient)"] + lines).joined(separator: "\n")
  }
}
