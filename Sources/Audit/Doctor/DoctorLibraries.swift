import SignedData
import Store

/// The libraries that this program runs with.
extension Doctor {
  mutating func examineLibraries() {
    report(
      "libraries",
      "SQLite \(StoreLibraries.sqlite), zstd \(StoreLibraries.zstd), OpenSSL "
        + CryptographyLibrary.version)
    report(
      "libraries",
      "the journal is written by one connection, in WAL mode, synchronous=FULL, mmap_size=0, "
        + "without automatic checkpoints")
    // sqlite.org/releaselog: STRICT tables came with version 3.37.
    let parts = StoreLibraries.sqlite.split(separator: ".").compactMap { Int($0) }
    if parts.lexicographicallyPrecedes([3, 37]) {
      reportFinding("libraries", "this SQLite is too old", next: "install 3.40 or later")
    }
    if !CryptographyLibrary.version.hasPrefix("3.") {
      reportFinding(
        "libraries", "this program was never tested with this OpenSSL", next: "install OpenSSL 3")
    }
  }
}
