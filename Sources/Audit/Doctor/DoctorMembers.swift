import Platform
import Queries
import Store

/// The members that Apple sends and this version does not know.
extension Doctor {
  /// How many of the newest events are read, and how many at a time.
  private static let readEvents: Int64 = 20_000
  private static let batch = 500
  /// How many names are told.
  private static let namedMembers = 200

  func examineMembers() throws(LedgerError) {
    guard let journal else { return }
    let head = try journal.head().seq
    let first = max(0, head - Self.readEvents)
    var found: [String: (count: Int, since: Int64)] = [:]
    var last = first
    while last < head {
      let events = try journal.events(after: last, limit: Self.batch)
      guard let end = events.last else { break }
      last = end.seq
      for event in events {
        for name in AppleMembers(JournaledPayload(event)).unknown {
          guard let known = found[name] else {
            if found.count < Self.namedMembers { found[name] = (1, event.signedDate) }
            continue
          }
          found[name] = (known.count + 1, min(known.since, event.signedDate))
        }
      }
    }
    if found.isEmpty { return report("all that Apple sends is known") }
    let among = first > 0 ? "the newest \(Self.readEvents)" : "\(head)"
    for (name, member) in found.sorted(by: { $0.key < $1.key }) {
      report(
        "Apple sends \(name) since \(Timestamp.text(member.since)), in \(member.count) of \(among) "
          + "events; this version does not read it: it is kept, and history shows it")
    }
  }
}
