import AppStore
import Store

/// Computes the hash chain of a bundle from its lines: `before`, then events and links, then an
/// anchor, as often as the bundle has anchors.
struct BundleChain {
  /// The last link that was computed since the last `before`; nil outside such a segment.
  private var position: (seq: Int64, hash: [UInt8])?
  /// The last link that an anchor covers.
  private var anchored = (seq: Int64(0), hash: ChainHash.origin)
  private var segmentHasEvent = false
  private var lastReceivedAt = Int64.min
  private var uuids: Set<NotificationUUID> = []
  /// Hashes by seq, from anchors of the bundle's journal that the reader has.
  var knownHashes: [Int64: [UInt8]] = [:]

  static let notNext = BundleLineError(what: "is not the next link of the chain")

  var isInSegment: Bool { position != nil }

  /// Begins a segment behind the last anchor.
  ///
  /// - Parameter seq: less than 2^60, so that no later seq overflows.
  /// - Throws: `BundleLineError` inside a segment, and if the seq or the hash is not valid.
  mutating func begin(
    seq: Int64?, hash: [UInt8]?, _ report: inout BundleReport
  ) throws(BundleLineError) {
    guard position == nil, let seq, (anchored.seq..<1 << 60).contains(seq), let hash else {
      throw BundleLineError(what: "the chain cannot begin here")
    }
    if seq == anchored.seq && hash != anchored.hash {
      report.findings.add(5, seq, "the chain continues from another hash than the one it reached")
    }
    segmentHasEvent = false
    position = (seq, hash)
  }

  /// Adds the next link.
  ///
  /// - Returns: the hash of the event that the link stands for.
  /// - Throws: `BundleLineError` if the link does not follow the last one.
  mutating func append(
    _ link: ChainLink, _ report: inout BundleReport
  ) throws(BundleLineError) -> [UInt8] {
    guard let position, link.seq == position.seq + 1 else { throw Self.notNext }
    let hash = link.hash(after: position.hash)
    self.position = (link.seq, hash)
    if link.receivedAt < lastReceivedAt {
      report.findings.add(5, link.seq, "has an earlier receive time than the event before it")
    }
    lastReceivedAt = link.receivedAt
    if let known = knownHashes[link.seq] {
      if known == hash {
        report.matchedAnchors += 1
      } else {
        report.findings.add(5, link.seq, "one of your anchors has another history up to here")
      }
    }
    return hash
  }

  /// Records that the last link is an event of the customer.
  mutating func recordEvent(_ link: ChainLink, _ report: inout BundleReport) {
    segmentHasEvent = true
    report.events += 1
    if !uuids.insert(link.notificationUUID).inserted {
      report.findings.add(4, link.seq, "occurs twice")
    }
  }

  /// Ends the segment before its anchor.
  ///
  /// - Returns: the last link, which the anchor must be of.
  /// - Throws: `BundleLineError` outside a segment, and if the segment has no event.
  mutating func end() throws(BundleLineError) -> (seq: Int64, hash: [UInt8]) {
    guard let position else {
      throw BundleLineError(what: "is not an anchor of the events before it")
    }
    guard segmentHasEvent else {
      throw BundleLineError(what: "no event of the customer leads to this anchor")
    }
    self.position = nil
    anchored = position
    return position
  }
}
