import Platform

/// A parser that untrusted input reaches, and what must hold for every input, beyond not crashing.
public struct FuzzTarget: Sendable {
  public let name: String
  /// Returns nil if every assertion holds, otherwise the one that failed. No state may pass from
  /// one input to the next.
  public let fault: @Sendable ([UInt8]) -> String?

  init(_ name: String, _ fault: @escaping @Sendable ([UInt8]) -> String?) {
    (self.name, self.fault) = (name, fault)
  }

  /// All targets; each has a corpus folder of its name.
  public static let all: [FuzzTarget] = [
    .head, .chunked, .json, .base64, .jws, .certificate, .v1, .lines, .query, .cursor, .payload,
    .receipt,
  ]

  public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// The files beside this one: an authority and notifications it signed, made once by
/// `subledger simulate`. Its keys are used by tests only.
enum FuzzFiles {
  static let authority =
    #filePath.split(separator: "/", omittingEmptySubsequences: false)
    .dropLast().joined(separator: "/") + "/Authority"

  static func read(_ name: String) -> [UInt8] {
    (try? DurableFile.read("\(authority)/\(name)", limit: 1 << 20)) ?? []
  }
}
