/// What the check of a backup found.
public struct BackupReport: Sendable {
  /// Nil if it could not be read.
  public var manifest: BackupManifest?
  /// How many events were checked.
  public var events: Int64 = 0
  /// Lowest seq first; at most `Verify.maximumFindings`.
  public var findings: [Finding] = []
  /// How many findings there are, including those that `findings` leaves out.
  public var findingCount = 0
}
