import AppStore
import Entitlements
import Ledger
import Platform
import Store

extension LedgerReader {
  /// The original transaction id of the stream that replaced this one (MIGRATION, and a change
  /// between a standalone subscription and a bundle): of those that name it, the one whose naming
  /// transaction has the greatest purchase date and id. Nil if there is none.
  ///
  /// Streams may name each other: a customer went to a bundle and came back. On such a circle the
  /// stream whose naming transaction is the greatest was not replaced.
  ///
  /// While rows are built and none can be read, only successors that were named since the process
  /// started are known.
  ///
  /// - Parameter opened: the projection that this answer reads.
  func successor(
    of key: StreamKey, _ question: Question, _ opened: Opened?
  ) throws(LedgerError) -> String? {
    guard let first = try naming(of: key, question, opened) else { return nil }
    // Only a stream that has named another one since can be the last of a circle.
    let own = try predecessors(of: key, question, opened).map { Naming(stream: key, named: $0) }
    guard let last = own.max(by: <), first <= last else { return first.id }
    var (next, greatest, seen) = (first, first, Set([first.stream]))
    while next.stream != key {
      guard let found = try naming(of: next.stream, question, opened), found <= last,
        found.stream == key || seen.insert(found.stream).inserted
      else { return first.id }
      next = found
      greatest = max(greatest, next)
    }
    return greatest.stream == key ? nil : first.id
  }

  /// The streams that name this one, the newest first.
  func replacements(
    of key: StreamKey, _ question: Question
  ) throws(LedgerError) -> [Replacement] {
    try namings(of: key, question, readable()).sorted(by: >).map {
      Replacement(originalTransactionId: $0.id, at: $0.named.namedAt)
    }
  }

  /// That a stream names another one as its predecessor.
  private struct Naming: Comparable {
    let stream: StreamKey
    let named: Predecessor

    var id: String { stream.originalTransactionId }

    static func < (one: Self, other: Self) -> Bool {
      if Predecessor.isNamedEarlier(one.named, other.named) { return true }
      return !Predecessor.isNamedEarlier(other.named, one.named) && one.stream < other.stream
    }
  }

  /// The greatest of those of one stream; nil if none names it.
  private func naming(
    of key: StreamKey, _ question: Question, _ opened: Opened?
  ) throws(LedgerError) -> Naming? {
    try namings(of: key, question, opened).max(by: <)
  }

  private func namings(
    of key: StreamKey, _ question: Question, _ opened: Opened?
  ) throws(LedgerError) -> [Naming] {
    guard maySucceed(key.originalTransactionId) else { return [] }
    var found: [StreamKey: [Predecessor]] = [:]
    let streams = rows { () throws(LedgerError) in try opened?.reader.successors(of: key) }
    for stream in (streams ?? nil) ?? [] {
      found[stream.key] =
        isCurrent(question, opened)
        ? stream.predecessors : try journaledState(of: stream.key, question).predecessors
    }
    if !isFollowing {
      for other in knownSuccessors(of: key.originalTransactionId)
      where found[other] == nil && other.bundleId == key.bundleId
        && other.environment == key.environment
      {
        found[other] = try journaledState(of: other, question).predecessors
      }
    }
    return found.flatMap { stream, predecessors in
      predecessors.filter { $0.names(key) }.map { Naming(stream: stream, named: $0) }
    }
  }

  private func predecessors(
    of key: StreamKey, _ question: Question, _ opened: Opened?
  ) throws(LedgerError) -> [Predecessor] {
    if let opened, isFollowing {
      let streams = rows { () throws(LedgerError) in
        try opened.reader.streams(withOriginalTransactionId: key.originalTransactionId)
      }
      // Nearly no stream has ever named one.
      if let stream = streams?.first(where: { $0.key == key }),
        stream.ids[2].isEmpty || isCurrent(question, opened)
      {
        return stream.predecessors
      }
    }
    return try journaledState(of: key, question).predecessors
  }

  private func isCurrent(_ question: Question, _ opened: Opened?) -> Bool {
    !question.isAboutThePast && opened?.isOwn == true && isFollowing
  }
}

extension Predecessor {
  /// Compares bytes.
  fileprivate func names(_ key: StreamKey) -> Bool {
    ByteSearch.areEqual(originalTransactionId, key.originalTransactionId)
  }
}
