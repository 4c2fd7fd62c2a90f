import Entitlements
import JournalStore

/// Identifies this program's fold: by its version number, and by the fingerprint of its results. A
/// projection of another fold is read, but never continued.
public enum FoldIdentity {
  public static var version: Int { Int(Fold.version) }
  /// Computed once per process, when it is first needed (`FoldFingerprint`).
  public static let fingerprint = FoldFingerprint.value

  static func of(journalId: [UInt8]) -> ProjectionIdentity {
    ProjectionIdentity(
      foldVersion: version, fingerprint: fingerprint, journalId: journalId)
  }
}
