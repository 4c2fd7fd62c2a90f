import AppStore
import Foundation
import Platform
import Support

@testable import Store

/// A journal, alone or as two copies of a shared one, in which accounts are made and erased in a
/// random order while it is killed now and then.
struct ErasedAccounts {
  private enum Side {
    case alone(Scratch, Opened)
    case copies(FollowTests.Copy, FollowTests.Copy)
  }

  private static let prefix = Array("account-of-".utf8)
  private static let digits = 8

  private var side: Side
  private var dice = Dice(state: TestSeed.number(usual: 64))
  /// The accounts in the order in which they are made.
  private var toMake: [Int]
  private var living: [Int] = []
  private var erased: Set<Int> = []
  private let total = TestCount.erasures.number
  private var turns = 0

  init(isShared: Bool) throws {
    toMake = Array(0..<total).shuffled(using: &dice)
    if isShared {
      side = .copies(try FollowTests.Copy(), try FollowTests.Copy())
    } else {
      let scratch = try Scratch()
      side = .alone(scratch, try scratch.open())
    }
    try append([.event(Sample.event(1))])
  }

  /// Makes some accounts and erases some, until all that were made are erased.
  ///
  /// - Returns: false once nothing is left to do.
  mutating func turn() throws -> Bool {
    guard !toMake.isEmpty || !living.isEmpty else { return false }
    turns += 1
    try make(dice.next(upperBound: UInt64(60)))
    for _ in 0..<min(living.count, Int(dice.next(upperBound: UInt64(toMake.isEmpty ? 60 : 40)))) {
      let place = Int(dice.next(upperBound: UInt64(living.count)))
      let account = living.remove(at: place)
      try erase(account)
      erased.insert(account)
    }
    // What is made now is written with pages that were in memory before.
    try make(1)
    return true
  }

  private mutating func make(_ count: UInt64) throws {
    let made = toMake.suffix(Int(count))
    toMake.removeLast(made.count)
    living += made
    if !made.isEmpty { try append(made.map(claim)) }
  }

  private func claim(_ account: Int) -> Submission {
    .statement(
      NewStatement(
        .claim(originalTransactionId: "2000000000000000"),
        of: CustomerName(.account, Self.name(account)), environment: .production,
        bundleId: "com.example.app", token: "test", receivedAt: 1_767_225_600_000))
  }

  /// Of many lengths, and in no order.
  private static func name(_ account: Int) -> String {
    var dice = Dice(state: UInt64(account))
    let number = String(account + 10_000_000)
    let tail = String(repeating: "x", count: Int(dice.next(upperBound: UInt64(200))))
    return String(decoding: prefix, as: UTF8.self) + number + tail
  }

  // MARK: The journal

  private func append(_ batch: [Submission]) throws {
    switch side {
    case .alone(_, let opened): _ = try opened.journal.append(batch)
    case .copies(let first, let second):
      _ = try first.append(batch)
      try second.journal.follow(first.tail)
    }
  }

  /// Erases an account; sometimes the journal is killed before it has emptied its files.
  private mutating func erase(_ account: Int) throws {
    let isKilled = dice.next(upperBound: UInt64(100)) == 0
    switch side {
    case .alone(_, let opened):
      guard isKilled else {
        _ = try opened.journal.erase(account: Self.name(account))
        return
      }
      _ = try opened.journal.forget(account: Self.name(account))
      try restart()
    case .copies(let first, let second):
      _ = try first.erase(account: Self.name(account))
      try second.journal.follow(first.tail)
      if isKilled { try restart() } else { try second.journal.emptyWAL() }
    }
  }

  /// Goes on with the files as a kill leaves them.
  private mutating func restart() throws {
    switch side {
    case .alone(let scratch, _):
      let killed = try scratch.crashed()
      side = .alone(killed, try killed.open())
    case .copies(let first, let second):
      side = .copies(first, try FollowTests.Copy(try second.scratch.crashed()))
    }
  }

  private var scratches: [Scratch] {
    switch side {
    case .alone(let scratch, _): [scratch]
    case .copies(let first, let second): [first.scratch, second.scratch]
    }
  }

  // MARK: What is in the files

  /// The erased accounts of which a file of a folder has the name.
  func found() throws -> [Int] {
    // What is in a -wal may not come into the file; all files are read at times, and in the end.
    let isWhole = turns % 10 == 0 || living.isEmpty
    return try scratches.flatMap { scratch in
      try scratch.files().filter { isWhole || $0.key.hasSuffix("-wal") }.values.flatMap(found)
    }
  }

  /// Those that a backup made now has.
  func foundInBackup() throws -> [Int] {
    try scratches.flatMap { scratch in
      let path = scratch.folder.path + "/backup"
      _ = try JournalCopy.make(of: scratch.folder, at: path) { _, _ in true }
      return try scratch.files()["backup"].map(found) ?? []
    }
  }

  private func found(in file: Data) -> [Int] {
    var found: [Int] = []
    var rest = file[...]
    while let range = rest.firstRange(of: Self.prefix) {
      rest = rest[range.upperBound...]
      let number = Int(String(decoding: rest.prefix(Self.digits), as: UTF8.self)) ?? 0
      if erased.contains(number - 10_000_000) { found.append(number - 10_000_000) }
    }
    return found
  }
}
