/// How a journal compares with a file of anchors.
public struct AnchorsOutcome: Sendable {
  /// The path of the file.
  public let file: String
  /// Whether the configuration names it.
  public let isConfigured: Bool
  /// How many lines match the journal.
  public var held: Int64 = 0
  /// The greatest seq of the lines that match; nil if none does.
  public var through: Int64?
  /// Whether the last line has no line feed and is not an anchor: a power loss tore it, or it is
  /// being written.
  public var isTorn = false
}
