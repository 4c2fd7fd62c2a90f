public import AppStore
public import Entitlements
public import Platform
import SignedData
public import Store
import StrictJSON

/// Writes the evidence bundle of one customer. `Bundle` describes the format.
public final class BundleExport {
  /// Some of the customer's events, and the anchor that covers them.
  private struct Segment {
    let anchor: Anchor
    var events: [StoredEvent]
  }

  private let journal: JournalReader
  private let signing: AnchorKey
  private let maximumLinks: Int64
  private let write: ([UInt8]) throws(LedgerError) -> Void
  private var hashing = SHA256()
  private var links: Int64 = 0

  /// Writes a bundle.
  ///
  /// - Parameters:
  ///   - anchors: stored anchors. Each event is covered by the first one at or after it. Anchors of
  ///     another journal or key are ignored.
  ///   - maximumLinks: how many events later an anchor may be. Where there is none, one is made
  ///     now: of the journal's head, or of the event itself if the head is further away.
  ///   - asOf: the time that the answer is for; nil for now, with all events.
  ///   - now: our clock. All times are in milliseconds since 1970 UTC.
  ///   - durations: the configured ones.
  ///   - write: called with whole lines.
  ///   - progress: called now and then with the links done and how many there are; false stops.
  /// - Returns: nil if it was stopped.
  /// - Throws: what the store throws if the journal cannot be read, and for what `write` throws;
  ///   `LedgerError.signing` if an anchor or the seal cannot be signed.
  public static func run(
    _ folder: DataFolder, _ key: StreamKey, signing: AnchorKey, anchors: [Anchor],
    maximumLinks: Int64, asOf: Int64?, now: Int64, durations: Durations,
    write: @escaping ([UInt8]) throws(LedgerError) -> Void, progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> BundleSummary? {
    let journal = try JournalReader.open(folder)
    let export = BundleExport(journal, signing, maximumLinks, write)
    let time = asOf ?? now
    let question = BundleQuestion(
      asOf: asOf, time: time,
      durations: try journal.durations(configured: durations)[key].milliseconds(at: time))
    return try export.run(key, anchors, question, now, progress)
  }

  private init(
    _ journal: JournalReader, _ signing: AnchorKey, _ maximumLinks: Int64,
    _ write: @escaping ([UInt8]) throws(LedgerError) -> Void
  ) {
    self.journal = journal
    self.signing = signing
    self.maximumLinks = maximumLinks
    self.write = write
  }

  private func run(
    _ key: StreamKey, _ anchors: [Anchor], _ question: BundleQuestion, _ now: Int64,
    _ progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> BundleSummary? {
    let events = try journal.events(of: key)
    let segments = try segments(of: events, anchors, now)
    let count = segments.reduce(0) { $0 + $1.anchor.seq - ($1.events.first?.seq ?? 0) + 1 }
    let id = try journal.journalId()
    try line(Bundle.head(key, journalId: Hexadecimal.encode(id), madeAt: now))
    var done: Int64 = 0
    for segment in segments {
      guard try add(segment, { progress(done + $0, count) }) else { return nil }
      done += segment.anchor.seq - (segment.events.first?.seq ?? 0) + 1
    }
    let entitlement = Bundle.entitlement(key, events, question, by: journal.fold)
    try line(Bundle.answer(entitlement, to: question, by: journal.fold))
    try seal()
    return BundleSummary(
      events: Int64(events.count), links: links, anchors: Int64(segments.count))
  }

  /// The anchors that claim to be of this journal and key, in the order of seq.
  private func candidates(_ anchors: [Anchor]) throws(LedgerError) -> [Anchor] {
    let id = Hexadecimal.encode(try journal.journalId())
    return anchors.filter { $0.journalId == id && $0.publicKey == signing.publicKey }
      .sorted { $0.seq < $1.seq }
  }

  private func segments(
    of events: [StoredEvent], _ anchors: [Anchor], _ now: Int64
  ) throws(LedgerError) -> [Segment] {
    var segments: [Segment] = []
    var head: Anchor?
    var rest = try candidates(anchors)[...]
    for event in events {
      if let last = segments.last, event.seq <= last.anchor.seq {
        segments[segments.count - 1].events.append(event)
      } else if let anchor = try nearest(to: event, &rest) {
        segments.append(Segment(anchor: anchor, events: [event]))
      } else {
        if head == nil { head = try anchorHead(now) }
        guard let anchor = head else { continue }
        let isNear = anchor.seq - event.seq <= maximumLinks
        segments.append(
          Segment(anchor: isNear ? anchor : try self.anchor(event, now), events: [event]))
      }
    }
    return segments
  }

  /// The first anchor at or after an event that is signed and of this journal's chain.
  ///
  /// - Parameter rest: loses the anchors that no later event needs.
  private func nearest(
    to event: StoredEvent, _ rest: inout ArraySlice<Anchor>
  ) throws(LedgerError) -> Anchor? {
    while let anchor = rest.first {
      if anchor.seq >= event.seq {
        guard anchor.seq - event.seq <= maximumLinks else { return nil }
        let hash = try journal.hash(at: anchor.seq)
        if hash == anchor.hash, anchor.isSigned(by: signing.publicKey) { return anchor }
      }
      rest.removeFirst()
    }
    return nil
  }

  /// An anchor of an event as the head that it was.
  private func anchor(_ event: StoredEvent, _ now: Int64) throws(LedgerError) -> Anchor {
    let id = try journal.journalId()
    let head = Head(seq: event.seq, hash: event.hash, receivedAt: event.receivedAt)
    return try Anchor.make(of: head, journalId: id, at: now, by: signing)
  }

  private func anchorHead(_ now: Int64) throws(LedgerError) -> Anchor {
    let (head, id) = (try journal.head(), try journal.journalId())
    return try Anchor.make(of: head, journalId: id, at: now, by: signing)
  }

  /// Writes the lines of a segment.
  ///
  /// - Returns: false if it was stopped.
  private func add(
    _ segment: Segment, _ progress: (Int64) -> Bool
  ) throws(LedgerError) -> Bool {
    guard let first = segment.events.first?.seq, let before = try journal.hash(at: first - 1)
    else { throw .corrupt("the event before one is missing") }
    try line(Bundle.before(first - 1, before))
    var events = segment.events[...]
    var shouldContinue = true
    try journal.forEachLink(from: first, through: segment.anchor.seq) {
      (link) throws(LedgerError) in
      if let event = events.first, event.seq == link.seq {
        try line(Bundle.event(event))
        events.removeFirst()
      } else {
        try line(Bundle.link(link))
        links += 1
      }
      shouldContinue = progress(link.seq - first + 1)
      return shouldContinue
    }
    if shouldContinue { try line(segment.anchor.json) }
    return shouldContinue
  }

  private func line(_ value: JSONValue) throws(LedgerError) {
    let bytes = value.bytes + [0x0A]
    hashing.update(bytes)
    try write(bytes)
  }

  private func seal() throws(LedgerError) {
    let sha256 = hashing.finish()
    let signature = try mapError(LedgerError.signing, try signing.key.sign(Bundle.sealed(sha256)))
    try line(Bundle.seal(sha256, signing.publicKey, signature))
  }
}
