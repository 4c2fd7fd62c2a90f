import Platform
public import Store

/// When a write to the journal last failed, in a small file beside it: the daemon ends within
/// milliseconds then, which no scrape of its metrics sees. The file is disposable.
public enum JournalFailure {
  private static let mostBytes = 64

  /// Notes a failure. A disk that does not take this either is told by what follows.
  ///
  /// - Parameter time: milliseconds since 1970 UTC.
  public static func note(_ folder: DataFolder, at time: Int64) {
    try? DurableFile.write(Array("\(time)\n".utf8), to: folder.journalFailure)
  }

  /// In milliseconds since 1970 UTC; nil if none is known.
  public static func last(_ folder: DataFolder) -> Int64? {
    guard let bytes = try? DurableFile.read(folder.journalFailure, limit: mostBytes) else {
      return nil
    }
    return Int64(String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self))
  }
}
