/// What checks of a data folder or of a backup read, and what they found.
public struct CheckReport: Sendable {
  /// How many events were checked.
  public var events: Int64 = 0
  /// How many of them are statements of the owner, not Apple's.
  public var statements: Int64 = 0
  /// How many rows the live projection has.
  public var rows: Int64 = 0
  /// `SetDigest` of the live projection in hexadecimal; nil if none is live.
  public var digest: String?
  /// Whether the rows were folded again and compared. Rows of another fold can only be counted.
  public var comparesProjection = true
  /// Whether the whole chain was walked, instead of one customer's events alone.
  public var isWhole = true
  /// Whether only seqs, hashes and bodies were checked.
  public var isChainAlone = false
  /// How the journal compares with anchors; nil if it was compared with none.
  public var anchors: AnchorsOutcome?
  /// What a backup says of itself; nil if it is of none, or that could not be read.
  public var manifest: BackupManifest?
  public var findings = Findings()
  /// Whether the caller stopped it before its end.
  public var isStopped = false
}
