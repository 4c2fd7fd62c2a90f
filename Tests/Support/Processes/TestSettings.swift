import Foundation

/// How much a test does, and from which seed. `SUBLEDGER_COUNTS=lives=20000,kills=100` sets other
/// numbers than the usual ones, `SUBLEDGER_SEED` another seed. `Tests/README.md` lists all
/// variables that the tests read.
public enum TestCount: String, Sendable {
  /// Simulated customers whose books are compared with the answers of SQL.
  case books
  /// Copies of a journal that are made under load.
  case backups
  /// Customers whose entitlements are compared with plain rows.
  case customers
  /// Damages of a projection.
  case damages
  /// Single bits that are flipped, in a journal of so many events.
  case flips, flippedEvents
  /// Accounts that are made and erased.
  case erasures
  /// Customers whose answers are compared between two programs.
  case fleet
  /// Changes of each input of the fuzz corpus.
  case fuzzRounds
  /// Random histories of each property of the fold.
  case histories
  /// Generated requests and bodies over real sockets.
  case hostile
  /// Lines that nobody should believe, of each file for `ingest`.
  case hostileLines
  /// Images of a disk after a loss of power.
  case images
  /// Kills of each command that asks Apple.
  case kills
  /// Kills of the daemon under load.
  case killRounds
  /// Lives that are compared with the truth.
  case lives
  /// Customers that a ledger is told of by any mixture of evidence.
  case mixed
  /// Moments at which two databases and the books are compared.
  case moments
  /// Orders of delivery in which each scenario is told to a daemon.
  case orders
  /// Projections that are built under load, and how many of the builds are killed.
  case rebuilds, rebuildKills
  /// Receipts that OpenSSL and this program judge.
  case receipts
  /// Histories of the whole ledger, and of several on one shared journal.
  case simulations, sharedSimulations
  /// Histories of one sink.
  case sinks
  /// Histories of claims and grants, and of what customers have by name.
  case statements
  /// Notifications that are posted many times at once.
  case storm
  /// Teams whose seats are compared with the books.
  case teams

  private var usual: Int {
    switch self {
    case .backups: 3
    case .books: 300
    case .customers: 60
    case .damages: 8
    case .erasures: 300
    case .flips: 40
    case .flippedEvents: 12
    case .fleet: 500
    case .fuzzRounds: 60
    case .histories: 1_000
    case .hostile: 600
    case .hostileLines: 120
    case .images: 40
    case .kills: 4
    case .killRounds: 3
    case .lives: 400
    case .mixed: 8
    case .moments: 2
    case .orders: 24
    case .rebuilds: 4
    case .rebuildKills: 1
    case .receipts: 20
    case .simulations: 20
    case .sharedSimulations: 8
    case .sinks: 60
    case .statements: 100
    case .storm: 150
    case .teams: 60
    }
  }

  /// The number of this run.
  public var number: Int { Self.set[self] ?? usual }

  /// Whether this run has another number than the usual one.
  public var isSet: Bool { Self.set[self] != nil }

  private static let set: [TestCount: Int] = {
    let text = ProcessInfo.processInfo.environment["SUBLEDGER_COUNTS"] ?? ""
    var set: [TestCount: Int] = [:]
    for item in text.split(separator: ",") {
      let parts = item.split(separator: "=")
      guard parts.count == 2, let count = TestCount(rawValue: String(parts[0])),
        let number = Int(parts[1])
      else { preconditionFailure("SUBLEDGER_COUNTS: \(item) is no count of TestCount") }
      set[count] = number
    }
    return set
  }()
}

/// The seed of this run.
public enum TestSeed {
  private static let set = ProcessInfo.processInfo.environment["SUBLEDGER_SEED"].flatMap {
    UInt64($0)
  }

  /// - Parameter usual: the seed of a run without `SUBLEDGER_SEED`.
  public static func number(usual: UInt64) -> UInt64 { set ?? usual }

  /// A new seed in every run without `SUBLEDGER_SEED`, printed, so that the run can be repeated.
  public static let drawn: UInt64 = {
    let seed = set ?? UInt64.random(in: 0...(.max))
    print("SUBLEDGER_SEED=\(seed)")
    return seed
  }()
}
