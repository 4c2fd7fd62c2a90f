import Platform

/// The App Store environment that a fact comes from: Production or Sandbox.
///
/// A structure rather than an enumeration: configuration and ingest admit the two constants only,
/// but a damaged journal can hold any text, and `verify` must be able to report it.
public struct Environment: RawRepresentable, Sendable, Hashable, Comparable,
  CustomStringConvertible
{
  /// As Apple writes it in V2 payloads.
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public static let production = Environment(rawValue: "Production")
  public static let sandbox = Environment(rawValue: "Sandbox")
  /// The environments that can be configured.
  public static let all = [production, sandbox]

  /// The environment of this name that can be configured; nil for another name.
  public static func named(_ name: String?) -> Environment? { all.first { $0.rawValue == name } }

  /// The name, for messages.
  public var description: String { rawValue }

  /// By UTF-8 bytes, as SQL orders text.
  public static func < (left: Environment, right: Environment) -> Bool {
    ByteSearch.precedes(left.rawValue, right.rawValue)
  }
}
