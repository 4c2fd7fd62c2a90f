import JournalStore
import SignedData

/// What this program is made of, for `version`.
public enum ComponentVersions {
  public static var all: [(name: String, version: String)] {
    [
      ("fold", String(FoldIdentity.version)), ("fingerprint", FoldIdentity.fingerprint),
      ("sqlite", StoreLibraries.sqlite),
      ("zstd", StoreLibraries.zstd), ("openssl", CryptographyLibrary.version),
    ]
  }
}
