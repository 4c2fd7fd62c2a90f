import Platform
import SignedData

// Why an anchor could not be made, or anchors could not be read.

extension LedgerError {
  /// A key's file, what is wrong with it, and what to do about it.
  static func key(_ path: String, _ problem: String, _ next: String) -> LedgerError {
    LedgerError(.unavailable, .temporary, "\(path) \(problem)", next: next)
  }

  /// A system call on a file of anchors, keys or bundles failed.
  static func anchorFile(_ error: LedgerError) -> LedgerError {
    LedgerError(
      .unavailable, .temporary, error.detail, next: "check the path, its owner and its volume")
  }

  static func signing(_ error: SigningError) -> LedgerError {
    LedgerError(.unavailable, .temporary, "\(error)", next: "try again")
  }
}
