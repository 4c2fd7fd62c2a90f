import SignedData
import Store

/// The libraries that this program runs with.
extension Doctor {
  func examineLibraries() {
    report(
      "SQLite \(StoreLibraries.sqlite), zstd \(StoreLibraries.zstd), OpenSSL "
        + CryptographyLibrary.version)
    report(
      "the journal is written by one connection, in WAL mode, synchronous=FULL, mmap_size=0, "
        + "without automatic checkpoints")
    // sqlite.org/releaselog: STRICT tables came with version 3.37.
    let parts = StoreLibraries.sqlite.split(separator: ".").compactMap { Int($0) }
    if parts.lexicographicallyPrecedes([3, 37]) {
      reportFinding("this SQLite is too old", next: "install 3.40 or later")
    }
    if !CryptographyLibrary.version.hasPrefix("3.") {
      reportFinding(
        "this program was never tested with this OpenSSL", next: "install OpenSSL 3")
    }
  }
}
