/// The fold and the journal of a projection. Projections with different identities cannot be
/// compared.
public struct ProjectionIdentity: Sendable, Equatable {
  public let foldVersion: Int
  /// Identifies everything else that the rows depend on. The fold defines the text.
  public let fingerprint: String
  /// The journal's id, 16 bytes.
  public let journalId: [UInt8]

  public init(foldVersion: Int, fingerprint: String, journalId: [UInt8]) {
    self.foldVersion = foldVersion
    self.fingerprint = fingerprint
    self.journalId = journalId
  }
}
