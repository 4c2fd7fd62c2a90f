import Entitlements
import JournalStore
import SignedData

/// What this program is made of, for `version`.
public enum ComponentVersions {
  public static var all: [(name: String, version: String)] {
    [
      ("fold", String(Fold.version)), ("sqlite", StoreLibraries.sqlite),
      ("zstd", StoreLibraries.zstd), ("openssl", CryptographyLibrary.version),
    ]
  }
}
