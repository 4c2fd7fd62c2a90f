import Platform
import SignedData

/// A file of a backup as its manifest describes it.
public struct BackupFile: Sendable, Equatable {
  /// Its name in the backup's folder.
  let name: String
  /// Its size in bytes.
  public let bytes: Int64
  /// SHA-256 of its content, 32 bytes.
  let sha256: [UInt8]

  /// Reads a file of a folder to its end and describes it.
  ///
  /// - Parameter body: called with every chunk; false stops.
  /// - Returns: nil if it was stopped.
  /// - Throws: `LedgerError` if the file cannot be read, and what `body` throws.
  static func read(
    _ name: String, in folder: String,
    _ body: (ArraySlice<UInt8>) throws(LedgerError) -> Bool = { _ in true }
  ) throws(LedgerError) -> BackupFile? {
    var hash = SHA256()
    var size: Int64 = 0
    let isWhole = try FileReading.forEachChunk("\(folder)/\(name)") {
      (chunk) throws(LedgerError) in
      hash.update(chunk)
      size += Int64(chunk.count)
      return try body(chunk)
    }
    return isWhole ? BackupFile(name: name, bytes: size, sha256: hash.finish()) : nil
  }
}
