import Support

/// A row of the table of hostile inputs: what is sent and the expected result. A row whose
/// variants have different results occurs several times.
struct HostileRow: Sendable {
  enum Expectation: Sendable {
    /// One of these statuses and the table's default: no change of the data, no part of the request
    /// in the answer, one counter, one line in the log (or one more that the log only counts).
    case refused(Set<Int>, codes: Set<String>, closes: Bool, field: String?)
    /// 422: as refused, plus one row in quarantine.
    case quarantined(codes: Set<String>)
    /// 200 and one event.
    case accepted
    /// The row's own code sends and checks.
    case scripted
    /// Covered by the suite of this name.
    case coveredBy(String)
  }

  /// The bytes to send and the name of the variant.
  struct Variant: Sendable {
    let name: String
    let bytes: [UInt8]
    var toHead = false
  }

  let id: String
  let expected: Expectation
  let variants: @Sendable (HostileClient) throws -> [Variant]

  /// - Parameters:
  ///   - codes: the codes that a problem may have; any if empty.
  ///   - field: a line of the head.
  static func refused(
    _ id: String, _ statuses: Int..., codes: Set<String> = [], closes: Bool = false,
    field: String? = nil, _ variants: @escaping @Sendable (HostileClient) throws -> [Variant]
  ) -> HostileRow {
    HostileRow(
      id: id, expected: .refused(Set(statuses), codes: codes, closes: closes, field: field),
      variants: variants)
  }

  static func quarantined(
    _ id: String, codes: Set<String> = [],
    _ variants: @escaping @Sendable (HostileClient) throws -> [Variant]
  ) -> HostileRow {
    HostileRow(id: id, expected: .quarantined(codes: codes), variants: variants)
  }

  static func accepted(
    _ id: String, _ variants: @escaping @Sendable (HostileClient) throws -> [Variant]
  ) -> HostileRow {
    HostileRow(id: id, expected: .accepted, variants: variants)
  }

  static func scripted(_ id: String, _ script: @escaping @Sendable (HostileClient) throws -> Void)
    -> HostileRow
  {
    HostileRow(id: id, expected: .scripted) { hostile in
      try script(hostile)
      try hostile.settle()
      return []
    }
  }

  static func coveredBy(_ id: String, _ suite: String) -> HostileRow {
    HostileRow(id: id, expected: .coveredBy(suite)) { _ in [] }
  }
}

/// The table of hostile inputs.
enum HostileTable {
  static let all = http + json + jws + chains + semantics + v1 + access + data
}
