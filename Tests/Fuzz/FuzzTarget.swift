import Platform

/// A parser that outsiders reach, and what must hold of it whatever it is given: not only that it
/// survives.
public struct FuzzTarget: Sendable {
  public let name: String
  /// Nil where all holds, else what does not. Nothing of one input may be left for the next.
  public let fault: @Sendable ([UInt8]) -> String?

  init(_ name: String, _ fault: @escaping @Sendable ([UInt8]) -> String?) {
    (self.name, self.fault) = (name, fault)
  }

  /// All of them, each with a corpus of its own name.
  public static let all: [FuzzTarget] = [
    .head, .chunked, .json, .base64, .jws, .certificate, .v1, .lines, .query, .cursor, .payload,
  ]

  public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// What lies beside this file: an authority, and what it once signed. Made once, by
/// `subledger simulate`; its keys vouch for nothing but trials.
enum FuzzFiles {
  static let authority =
    #filePath.split(separator: "/", omittingEmptySubsequences: false)
    .dropLast().joined(separator: "/") + "/Authority"

  static func read(_ name: String) -> [UInt8] {
    (try? DurableFile.read("\(authority)/\(name)", limit: 1 << 20)) ?? []
  }
}
