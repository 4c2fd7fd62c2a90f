import SignedData
import Store

/// The versions of the fold and of the linked libraries, for `version`.
public enum ComponentVersions {
  public static var all: [(name: String, version: String)] {
    [
      ("fold", String(FoldIdentity.version)), ("fingerprint", FoldIdentity.fingerprint),
      ("sqlite", StoreLibraries.sqlite),
      ("zstd", StoreLibraries.zstd), ("openssl", CryptographyLibrary.version),
    ]
  }
}
