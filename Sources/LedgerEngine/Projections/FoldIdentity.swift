import Entitlements
import JournalStore

/// What this program's fold is: by a number somebody gave it, and by what it does. Rows of another
/// one are read, but never gone on with.
public enum FoldIdentity {
  public static var version: Int { Int(Fold.version) }
  public static let fingerprint = FoldFingerprint.mark

  static func of(journalId: [UInt8]) -> ProjectionIdentity {
    ProjectionIdentity(
      foldVersion: version, fingerprint: fingerprint, journalId: journalId)
  }
}
