import Entitlements
import SignedData
import Store

/// The versions of the fold and of the linked libraries, for `version`.
public enum ComponentVersions {
  /// - Parameter program: the program's own version.
  public static func all(of program: String) -> [(name: String, version: String)] {
    [
      ("version", program), ("fold", String(Fold.current.version)),
      ("fingerprint", Fold.current.fingerprint),
      ("sqlite", StoreLibraries.sqlite),
      ("zstd", StoreLibraries.zstd), ("openssl", CryptographyLibrary.version),
    ]
  }
}
