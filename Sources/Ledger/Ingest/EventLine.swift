package import AppStore
import Platform
package import Store
import StrictJSON

/// An event as a line of an export.
package enum EventLine {
  /// One line with its line feed; the same event always gives the same bytes.
  ///
  /// - Parameters:
  ///   - arrival: nil if it was posted.
  ///   - run: of a receipt's event, that event and those which share its line.
  package static func of(
    _ event: StoredEvent, _ arrival: EventArrival? = nil, _ run: [StoredEvent]? = nil
  ) -> [UInt8] {
    let hash = Hexadecimal.encode(event.hash)
    let position = "\"seq\":\(event.seq),\"received_at_ms\":\(event.receivedAt)"
    let member = arrival.map { "\"arrival\":\"\($0.rawValue)\"," } ?? ""
    var line = Array("{\(position),\(member)\"hash\":\"\(hash)\",\"body\":".utf8)
    line.reserveCapacity(line.count + event.body.count + 32)
    switch event.source.form {
    case .receipt:
      let members = ReceiptLine.members(run ?? [event])
      // The first of them is `body`, whose name is written already.
      line += members[0].1.bytes
      for (name, value) in members.dropFirst() {
        line += ",\"\(name)\":".utf8
        line += value.bytes
      }
    case .v1, .statement: line += event.body
    case .jws where event.source.isEvidence:
      line += evidence(event.body, event.source, event.bundleId, event.environment)
    case .jws, nil:
      // A compact JWS has no character that JSON would escape.
      line += "{\"signedPayload\":\"".utf8
      line += event.body
      line += "\"}".utf8
    }
    line += "}\n".utf8
    return line
  }

  /// The body of evidence in a line.
  package static func evidence(
    _ jws: [UInt8], _ source: EventSource, _ bundleId: String, _ environment: Environment
  ) -> [UInt8] {
    EvidenceLine.body(
      String(decoding: jws, as: UTF8.self), source,
      from: Receiver.EvidenceOrigin(bundleId: bundleId, environment: environment)
    ).bytes
  }
}
