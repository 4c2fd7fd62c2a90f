public import Platform
import SignedData
public import Store

/// Which ids of an interrupted import are done, in a file beside the journal. The file is
/// disposable: without it, the ids are asked for again, and nothing is journaled twice (promise 4).
public final class ImportProgress {
  /// Indices of ids.
  public private(set) var done: Set<Int> = []
  private let path: String
  private static let mostBytes = 1 << 28

  /// Reads the progress of an import of the same file, if there is one.
  ///
  /// - Throws: `LedgerError.system` if the file cannot be read.
  public init(_ folder: DataFolder, _ file: IdentifierFile) throws(LedgerError) {
    let words = file.ids.map { ([$0] + (file.accounts[$0] ?? [])).joined(separator: ",") }
    let digest = SHA256.hash(Array(words.joined(separator: "\n").utf8))
    path = folder.path + "/import-\(Hexadecimal.encode(Array(digest.prefix(8)))).progress"
    guard try DurableFile.size(path) != nil else { return }
    let text = String(
      decoding: try DurableFile.read(path, limit: Self.mostBytes), as: UTF8.self)
    // A power loss may have cut the last line short, which would name another id.
    for line in text.split(separator: "\n") where line.hasSuffix(";") {
      done.formUnion(line.dropLast().split(separator: ",").compactMap { Int($0) })
    }
  }

  /// Records ids whose answers are journaled.
  ///
  /// - Throws: `LedgerError.system`.
  func add(_ indices: [Int]) throws(LedgerError) {
    done.formUnion(indices)
    let line = indices.map(String.init).joined(separator: ",") + ";"
    try AppendedFile.append(line: Array(line.utf8), to: path)
  }

  /// Removes the file: everything is done.
  func finish() { try? DurableFile.remove(path) }
}
