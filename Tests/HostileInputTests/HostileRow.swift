import Support

/// A row of the table of hostile inputs: what is sent, and what must come of it. A row whose
/// variants have different dues is there several times.
struct HostileRow: Sendable {
  enum Due: Sendable {
    /// One of these statuses, and the default of the table: nothing anywhere in the data, nothing
    /// of the request in the answer, one counter, one line in the log.
    case refused(Set<Int>, closes: Bool, field: String?)
    /// 422: as refused, and one row in quarantine.
    case quarantined
    /// 200, and one event.
    case accepted
    /// What the row says for itself.
    case played
    /// Tried by another suite of this folder, or by one of another.
    case elsewhere(String)
  }

  /// Bytes for the wire, and which variant they are.
  struct Variant: Sendable {
    let name: String
    let bytes: [UInt8]
    var toHead = false
  }

  let id: String
  let due: Due
  let variants: @Sendable (HostileClient) throws -> [Variant]

  static func refused(
    _ id: String, _ statuses: Int..., closes: Bool = false, field: String? = nil,
    _ variants: @escaping @Sendable (HostileClient) throws -> [Variant]
  ) -> HostileRow {
    HostileRow(
      id: id, due: .refused(Set(statuses), closes: closes, field: field), variants: variants)
  }

  static func quarantined(
    _ id: String, _ variants: @escaping @Sendable (HostileClient) throws -> [Variant]
  ) -> HostileRow {
    HostileRow(id: id, due: .quarantined, variants: variants)
  }

  static func accepted(
    _ id: String, _ variants: @escaping @Sendable (HostileClient) throws -> [Variant]
  ) -> HostileRow {
    HostileRow(id: id, due: .accepted, variants: variants)
  }

  static func played(_ id: String, _ play: @escaping @Sendable (HostileClient) throws -> Void)
    -> HostileRow
  {
    HostileRow(id: id, due: .played) { foe in
      try play(foe)
      try foe.settle()
      return []
    }
  }

  static func elsewhere(_ id: String, _ suite: String) -> HostileRow {
    HostileRow(id: id, due: .elsewhere(suite)) { _ in [] }
  }
}

/// The whole table.
enum HostileTable {
  static let all = http + json + jws + chains + semantics + v1 + access + data
}
