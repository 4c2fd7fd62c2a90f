import Entitlements
import SignedData
import Store

/// The versions of the fold and of the linked libraries, for `version`.
public enum ComponentVersions {
  public static var all: [(name: String, version: String)] {
    [
      ("fold", String(Fold.current.version)), ("fingerprint", Fold.current.fingerprint),
      ("sqlite", StoreLibraries.sqlite),
      ("zstd", StoreLibraries.zstd), ("openssl", CryptographyLibrary.version),
    ]
  }
}
