import Encoding
public import JournalStore
import SignedData
import StrictJSON

/// Writes the evidence bundle of one customer; `Bundle` says what is in it.
public final class BundleExport {
  public struct Summary: Sendable {
    public let events: Int64
    /// Other customers' events that had to be named, without their bodies, to compute the chain.
    public let links: Int64
    public let anchors: Int64
  }

  /// Events, and the anchor that their places are led to.
  private struct Segment {
    let anchor: Anchor
    var events: [StoredEvent]
  }

  private let journal: JournalReader
  private let signing: AnchorKey
  private let write: ([UInt8]) throws(StoreError) -> Void
  private var hashing = SHA256()
  private var links: Int64 = 0

  /// - Parameters:
  ///   - anchors: kept ones. Each event is led to the first that covers it, what is past the last
  ///     to one that is made now; those that are not of this journal and key are not used.
  ///   - asOf: the moment the answer is for; nil for now, with everything that came.
  ///   - now: our clock. Times are milliseconds since 1970 UTC.
  ///   - write: gets whole lines.
  ///   - progress: places of the chain done and in all, now and then; false stops.
  /// - Returns: nil where it was stopped.
  public static func run(
    _ folder: DataFolder, _ key: StreamKey, signing: AnchorKey, anchors: [Anchor], asOf: Int64?,
    now: Int64, durations: [String: Int64],
    write: @escaping ([UInt8]) throws(StoreError) -> Void, progress: (Int64, Int64) -> Bool
  ) throws(AnchorError) -> Summary? {
    let journal = try AnchorError.store { () throws(StoreError) in
      try JournalReader.open(folder)
    }
    let export = BundleExport(journal, signing, write)
    let question = BundleQuestion(asOf: asOf, time: asOf ?? now, durations: durations)
    return try export.run(key, try export.usable(anchors), question, now, progress)
  }

  private init(
    _ journal: JournalReader, _ signing: AnchorKey,
    _ write: @escaping ([UInt8]) throws(StoreError) -> Void
  ) {
    self.journal = journal
    self.signing = signing
    self.write = write
  }

  private func run(
    _ key: StreamKey, _ anchors: [Anchor], _ question: BundleQuestion, _ now: Int64,
    _ progress: (Int64, Int64) -> Bool
  ) throws(AnchorError) -> Summary? {
    let events = try AnchorError.store { () throws(StoreError) in try journal.events(of: key) }
    let segments = try segments(of: events, anchors, now)
    let count = segments.reduce(0) { $0 + $1.anchor.seq - ($1.events.first?.seq ?? 0) + 1 }
    let id = try AnchorError.store { () throws(StoreError) in try journal.journalId() }
    let isWhole = try AnchorError.store { () throws(StoreError) in
      try line(Bundle.head(key, journalId: Hexadecimal.encode(id), madeAt: now))
      var done: Int64 = 0
      for segment in segments {
        guard try add(segment, { progress(done + $0, count) }) else { return false }
        done += segment.anchor.seq - (segment.events.first?.seq ?? 0) + 1
      }
      try line(Bundle.answer(Bundle.entitlement(key, events, question), to: question))
      return true
    }
    guard isWhole else { return nil }
    try seal()
    return Summary(
      events: Int64(events.count), links: links, anchors: Int64(segments.count))
  }

  /// In the order of seq, each place once.
  private func usable(_ anchors: [Anchor]) throws(AnchorError) -> [Anchor] {
    try AnchorError.store { () throws(StoreError) in
      let id = Hexadecimal.encode(try journal.journalId())
      var usable: [Int64: Anchor] = [:]
      for anchor in anchors where anchor.journalId == id && anchor.isSigned(by: signing.publicKey) {
        if try journal.hash(at: anchor.seq) == anchor.hash { usable[anchor.seq] = anchor }
      }
      return usable.values.sorted { $0.seq < $1.seq }
    }
  }

  private func segments(
    of events: [StoredEvent], _ anchors: [Anchor], _ now: Int64
  ) throws(AnchorError) -> [Segment] {
    var segments: [Segment] = []
    var fresh: Anchor?
    var rest = anchors[...]
    for event in events {
      rest = rest.drop { $0.seq < event.seq }
      if rest.isEmpty && fresh == nil { fresh = try anchorHead(now) }
      guard let anchor = rest.first ?? fresh else { continue }
      if segments.last?.anchor == anchor {
        segments[segments.count - 1].events.append(event)
      } else {
        segments.append(Segment(anchor: anchor, events: [event]))
      }
    }
    return segments
  }

  private func anchorHead(_ now: Int64) throws(AnchorError) -> Anchor {
    let (head, id) = try AnchorError.store { () throws(StoreError) in
      (try journal.head(), try journal.journalId())
    }
    return try AnchorError.signing { () throws(SigningError) in
      try Anchor.make(of: head, journalId: id, at: now, by: signing)
    }
  }

  /// - Returns: whether it came to the end.
  private func add(
    _ segment: Segment, _ progress: (Int64) -> Bool
  ) throws(StoreError) -> Bool {
    guard let first = segment.events.first?.seq, let before = try journal.hash(at: first - 1)
    else { throw .corrupt("the place before an event is missing") }
    try line(Bundle.before(first - 1, before))
    var events = segment.events[...]
    var shouldContinue = true
    try journal.forEachLink(from: first, through: segment.anchor.seq) { (link) throws(StoreError) in
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

  private func line(_ value: JSONValue) throws(StoreError) {
    let bytes = value.bytes + [0x0A]
    hashing.update(bytes)
    try write(bytes)
  }

  private func seal() throws(AnchorError) {
    let sha256 = hashing.finish()
    let signature = try AnchorError.signing { () throws(SigningError) in
      try signing.key.sign(Bundle.sealed(sha256))
    }
    try AnchorError.store { () throws(StoreError) in
      try line(Bundle.seal(sha256, signing.publicKey, signature))
    }
  }
}
