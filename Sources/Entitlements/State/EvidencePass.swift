import AppStore

/// Judges all evidence that is held about one stream, in one pass by date that can be interrupted
/// after each date.
///
/// Two states are carried along: `known`, what the journaled events say, and `whole`, what they and
/// the held pieces say together. After the events of each date both must hold the same in their
/// registers and give the same answers at all times; else pieces are released into `known` until
/// they do. That is what promise 6 demands of answers as of any date, so nothing else has to be
/// compared: not each piece with each event.
///
/// Only few pieces can be missing. Each part of a register is a maximum, a minimum or a set, so in
/// `whole` it comes from one event alone, its source. With the sources of all parts that differ,
/// `known` equals `whole`: releasing ends. A piece that is released also changes `known` as of the
/// dates between its own and this one. These are compared once more by another pass, which begins
/// at the earliest piece that was released.
public struct EvidencePass: Sendable {
  private struct Item {
    let event: FoldEvent
    /// The index of a held piece; nil if it is journaled.
    let piece: Int?
  }

  /// A part of a register that is not told by a key.
  private enum Part: Hashable {
    case first(String)
    case clear(String)
    case restored(String)
    case isUpgraded(String)
    case revocation(String, Int64)
    case refund(String, Int64)
    case grace(Int64)
    case previous(String)
    case token(String)
    case certainV1
  }

  /// Passes that release something, after which all is released: that is always right.
  private static let limit = 8

  /// By date.
  private var items: [Item]
  private var pieces: [FoldEvent]
  /// The indices of the pieces that are to be journaled, in the order in which they are.
  public private(set) var released: [Int] = []
  /// Whether all is judged.
  private(set) var isDone = false
  /// How many events were folded and rows evaluated: the work that was done.
  package private(set) var steps = 0

  private var known = StreamState()
  private var whole = StreamState()
  /// How many of the items are folded.
  private var next = 0
  /// The pieces that are held, by uuid.
  private var held: [NotificationUUID: Int]
  /// The piece that each part of `whole` is from, if it is from one.
  private var sources: [Part: Int] = [:]
  /// The transactions whose registers differ.
  private var differing: Set<String> = []
  /// The transactions that were folded since the states were compared.
  private var touched: [String] = []
  /// The row of `known`, if it was not changed since.
  private var knownRow: EntitlementRow?
  /// From when on this pass compares.
  private var start = Int64.min
  /// From when on the next one has to.
  private var again: Int64?
  private var passes = 0
  private let rules: Fold

  /// - Parameters:
  ///   - events: all journaled events of the stream, in any order.
  ///   - pieces: all that are held.
  public init(events: [FoldEvent], pieces: [FoldEvent], by rules: Fold) {
    self.rules = rules
    self.pieces = pieces
    items = events.map { Item(event: $0, piece: nil) }
    items += pieces.indices.map { Item(event: pieces[$0], piece: $0) }
    items.sort { ($0.event.signedDate, $0.event.uuid) < ($1.event.signedDate, $1.event.uuid) }
    held = Dictionary(
      pieces.indices.map { (pieces[$0].uuid, $0) }, uniquingKeysWith: { one, _ in one })
  }

  /// Adds an event that was journaled since; all of its date and later is judged again.
  public mutating func add(_ event: FoldEvent) {
    let place = items.partitionPoint { $0.event.signedDate <= event.signedDate }
    items.insert(Item(event: event, piece: nil), at: place)
    isDone = false
    guard place < next else { return }
    fold(items[place])
    next += 1
    again = min(again ?? .max, event.signedDate)
  }

  /// Judges on.
  ///
  /// - Parameter isGoingOn: called after each date; false ends.
  /// - Returns: whether all is judged.
  public mutating func advance(while isGoingOn: () -> Bool) -> Bool {
    while !isDone {
      if next < items.count { foldNext() } else { endPass() }
      guard isGoingOn() else { break }
    }
    return isDone
  }

  /// Folds all of the next date.
  private mutating func foldNext() {
    let date = items[next].event.signedDate
    while next < items.count, items[next].event.signedDate == date {
      fold(items[next])
      next += 1
    }
    guard date >= start else { return }
    while let piece = missingPiece() { release(piece) }
    touched.removeAll(keepingCapacity: true)
  }

  private mutating func endPass() {
    guard let date = again else { return isDone = true }
    passes += released.isEmpty ? 0 : 1
    (start, again, next) = (date, nil, 0)
    (known, whole, knownRow) = (StreamState(), StreamState(), nil)
    sources.removeAll()
    differing.removeAll()
    guard passes >= Self.limit else { return }
    for piece in held.values.sorted() { release(piece) }
    isDone = true
  }

  // MARK: Folding

  private mutating func fold(_ item: Item) {
    let event = item.event
    let piece = item.piece.flatMap { held[event.uuid] == $0 ? $0 : nil }
    let (graces, previous) = (whole.graces, whole.previousOriginalTransactionIds)
    let tokens = whole.toldAccountTokens
    let certain = whole.certainV1
    let before = event.transactions.map { whole.transactions[$0.transactionId] }
    whole.evolve(event)
    steps += 1
    for (transaction, register) in zip(event.transactions, before) {
      keepSources(of: transaction.transactionId, since: register, piece)
    }
    if whole.certainV1 != certain { sources[.certainV1] = piece }
    if whole.graces != graces {
      for grace in whole.graces where !graces.contains(grace) {
        sources[.grace(grace.periodEnd)] = piece
      }
    }
    if whole.previousOriginalTransactionIds.count != previous.count {
      for id in whole.previousOriginalTransactionIds where !previous.contains(id) {
        sources[.previous(id)] = piece
      }
    }
    if whole.toldAccountTokens.count != tokens.count {
      for token in whole.toldAccountTokens where !tokens.contains(token) {
        sources[.token(token)] = piece
      }
    }
    if piece == nil { addToKnown(event) } else { compare(event) }
  }

  private mutating func keepSources(
    of id: String, since before: StreamState.TransactionRegister?, _ piece: Int?
  ) {
    guard let after = whole.transactions[id] else { return }
    if before?.first != after.first { sources[.first(id)] = piece }
    if before?.clear != after.clear { sources[.clear(id)] = piece }
    if before?.restored != after.restored { sources[.restored(id)] = piece }
    if before?.isUpgradedByV1 != after.isUpgradedByV1 { sources[.isUpgraded(id)] = piece }
    for revocation in after.revocations
    where !(before?.revocations.contains(revocation) ?? false) {
      sources[.revocation(id, revocation.date)] = piece
    }
    for refund in Self.refunds(in: after, notIn: before) {
      sources[.refund(id, refund.date)] = piece
    }
  }

  private mutating func addToKnown(_ event: FoldEvent) {
    known.evolve(event)
    knownRow = nil
    steps += 1
    compare(event)
  }

  private mutating func compare(_ event: FoldEvent) {
    for id in event.transactions.map(\.transactionId) {
      touched.append(id)
      if known.transactions[id] == whole.transactions[id] {
        differing.remove(id)
      } else {
        differing.insert(id)
      }
    }
  }

  private mutating func release(_ piece: Int) {
    held[pieces[piece].uuid] = nil
    released.append(piece)
    again = min(again ?? .max, pieces[piece].signedDate)
    addToKnown(pieces[piece])
  }

  // MARK: What is missing

  /// A piece that `known` lacks; nil if it says what `whole` does.
  private mutating func missingPiece() -> Int? {
    guard isDiffering else { return nil }
    return pieceOfOtherContent ?? pieceOfOtherAnswer()
  }

  private var isDiffering: Bool {
    !differing.isEmpty || known.renewal?.key != whole.renewal?.key
      || known.renewalV1?.key != whole.renewalV1?.key || known.certainV1 != whole.certainV1
      || known.graces != whole.graces
      || known.previousOriginalTransactionIds.count != whole.previousOriginalTransactionIds.count
      || known.toldAccountTokens.count != whole.toldAccountTokens.count
  }

  private func isHeld(_ piece: Int) -> Bool { held[pieces[piece].uuid] == piece }

  private func source(_ part: Part) -> Int? { sources[part].flatMap { isHeld($0) ? $0 : nil } }

  private func source(_ key: StreamState.Key?) -> Int? { key.flatMap { held[$0.uuid] } }

  /// The source of a register that holds something else in both states.
  private var pieceOfOtherContent: Int? {
    for id in touched where differing.contains(id) {
      guard let register = whole.transactions[id] else { continue }
      let isSame =
        known.transactions[id]?.transaction.saysTheSame(as: register.transaction) ?? false
      if !isSame, let piece = source(register.key) { return piece }
    }
    for (one, other) in [(known.renewal, whole.renewal), (known.renewalV1, whole.renewalV1)]
    where one?.key != other?.key {
      let isSame = other.map { one?.renewal.saysTheSame(as: $0.renewal) ?? false } ?? true
      if !isSame, let piece = source(other?.key) { return piece }
    }
    let parts =
      Self.missing(known.previousOriginalTransactionIds, of: whole.previousOriginalTransactionIds)
      .map(Part.previous)
      + Self.missing(known.toldAccountTokens, of: whole.toldAccountTokens).map(Part.token)
    return parts.lazy.compactMap { self.source($0) }.first
  }

  private static func missing(_ one: [String], of other: [String]) -> [String] {
    one.count == other.count ? [] : other.filter { !one.contains($0) }
  }

  /// A piece that an answer needs. With all sources the answers are those of `whole`, so among
  /// them, newest first, there is one with which they change; it is found by halving.
  private mutating func pieceOfOtherAnswer() -> Int? {
    let row = knownRow ?? self.row(known)
    knownRow = row
    guard self.row(whole) != row else { return nil }
    let missing = sourcesOfDifferences()
    guard !missing.isEmpty else { return nil }
    var (same, other) = (0, missing.count)
    while other - same > 1 {
      let middle = (same + other) / 2
      var state = known
      for piece in missing[..<middle] {
        state.evolve(pieces[piece])
        steps += 1
      }
      if self.row(state) == row { same = middle } else { other = middle }
    }
    return missing[other - 1]
  }

  private mutating func row(_ state: StreamState) -> EntitlementRow {
    steps += 1
    var row = EntitlementRow(state, by: rules)
    (row.eventCount, row.lastEvent) = (0, nil)
    return row
  }

  /// The held sources of all parts that differ, the newest first.
  private func sourcesOfDifferences() -> [Int] {
    var found: [Int?] = []
    for id in differing { found += sources(of: id) }
    if known.renewal?.key != whole.renewal?.key { found.append(source(whole.renewal?.key)) }
    if known.renewalV1?.key != whole.renewalV1?.key { found.append(source(whole.renewalV1?.key)) }
    if known.certainV1 != whole.certainV1 { found.append(source(.certainV1)) }
    if known.graces != whole.graces {
      found += whole.graces.filter { !known.graces.contains($0) }
        .map { source(.grace($0.periodEnd)) }
    }
    return Set(found.compactMap { $0 }).sorted {
      (pieces[$0].signedDate, pieces[$0].uuid) > (pieces[$1].signedDate, pieces[$1].uuid)
    }
  }

  private func sources(of id: String) -> [Int?] {
    guard let other = whole.transactions[id] else { return [] }
    let one = known.transactions[id]
    var found: [Int?] = []
    if one?.key != other.key { found.append(source(other.key)) }
    if one?.older != other.older {
      found += [
        source(other.older?.ownership?.key), source(other.older?.subscriptionGroup?.key),
        source(other.older?.price?.key), source(other.older?.reason?.key),
        source(other.older?.accountToken?.key), source(other.older?.offer?.key),
        source(other.older?.unsigned?.key),
      ]
    }
    if one?.first != other.first { found.append(source(.first(id))) }
    if one?.clear != other.clear { found.append(source(.clear(id))) }
    if one?.restored != other.restored { found.append(source(.restored(id))) }
    if one?.isUpgradedByV1 != other.isUpgradedByV1 { found.append(source(.isUpgraded(id))) }
    for revocation in other.revocations
    where !(one?.revocations.contains(revocation) ?? false) {
      found.append(source(.revocation(id, revocation.date)))
    }
    found += Self.refunds(in: other, notIn: one).map { source(.refund(id, $0.date)) }
    return found
  }

  private static func refunds(
    in register: StreamState.TransactionRegister, notIn other: StreamState.TransactionRegister?
  ) -> [StreamState.TransactionRegister.ToldRefund] {
    let known = other?.older?.refunds ?? []
    return (register.older?.refunds ?? []).filter { !known.contains($0) }
  }
}
