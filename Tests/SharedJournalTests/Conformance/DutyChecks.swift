import Platform
import Store

/// One holder for each duty.
enum DutyChecks {
  typealias Check = (
    name: String,
    run: @Sendable (any DutyTable, any DutyTable) throws(ConformanceFailure) -> Void
  )

  static let all: [Check] = [
    ("a duty has one holder, who may renew it", holding),
    ("the next holder goes on where the last one was, who may not save any more", handingOver),
  ]

  private static var soon: Deadline { Deadline(milliseconds: 10_000) }

  private static func expect(_ holds: Bool, _ what: String) throws(ConformanceFailure) {
    guard holds else { throw ConformanceFailure(what) }
  }

  private static func holding(
    _ first: any DutyTable, _ second: any DutyTable
  ) throws(ConformanceFailure) {
    let (lease, renewed, other, unrelated) = try mapError({ ConformanceFailure($0) }) {
      () throws(LedgerError) in
      (
        try first.take("one", for: "a", by: soon), try first.take("one", for: "a", by: soon),
        try second.take("one", for: "b", by: soon), try second.take("two", for: "b", by: soon)
      )
    }
    try expect(lease != nil && lease == renewed, "the holder keeps its epoch")
    try expect(other == nil, "no second holder")
    try expect(unrelated != nil, "another duty is free")
  }

  private static func handingOver(
    _ first: any DutyTable, _ second: any DutyTable
  ) throws(ConformanceFailure) {
    let position: [UInt8] = [1, 0, 255]
    let (lease, next, saved, late) = try mapError({ ConformanceFailure($0) }) {
      () throws(LedgerError) in
      guard let lease = try first.take("three", for: "a", by: soon) else {
        throw .sharedBroken(state: "the duty is not free")
      }
      let saved = try first.save(position, of: "three", lease, by: soon)
      try first.release("three", lease, by: soon)
      let next = try second.take("three", for: "b", by: soon)
      return (lease, next, saved, try first.save([9], of: "three", lease, by: soon))
    }
    try expect(lease.position == nil && saved, "the holder saves")
    try expect(next?.position == position, "the next holder has the position")
    try expect((next?.epoch ?? 0) > lease.epoch, "the epoch grew")
    try expect(!late, "the last holder saves no more")
  }
}
