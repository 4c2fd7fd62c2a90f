import Glibc
import Platform
import Store

/// The output of an export: standard output, or a file that appears only when it is complete.
final class ExportTarget {
  private let file: AtomicFileWriter?
  private let isCompressed: Bool
  /// What is not compressed yet.
  private var waiting: [UInt8] = []
  /// Bytes that are compressed together: a customer's notifications share most of theirs.
  private static let frameSize = 1 << 20

  /// - Parameter isCompressed: write a zstd file.
  /// - Throws: `LedgerError.usage` if the lines would go to a terminal, `LedgerError.unavailable`
  ///   if the file exists and is not to be replaced, is not a regular file, or cannot be made.
  init(_ path: String, isReplacing: Bool, isCompressed: Bool) throws(LedgerError) {
    self.isCompressed = isCompressed
    guard path != "-" else {
      guard !ProcessLimits.isTerminal(STDOUT_FILENO) else {
        throw .usage("refusing to write to the terminal; give --output FILE, or a pipe")
      }
      file = nil
      return
    }
    let kind = try mapError(Self.unavailable, try FileKind.of(path))
    guard kind != .file || isReplacing else {
      throw .unavailable("\(path) exists; give another file, or --force")
    }
    // The rename at the end would replace a device or a link by a file.
    guard kind == nil || kind == .file else {
      throw .unavailable(
        "\(path) is not a regular file; give another one, or - for standard output")
    }
    file = try mapError(Self.unavailable, try AtomicFileWriter(path))
  }

  private static func unavailable(_ error: LedgerError) -> LedgerError {
    .unavailable("\(error.detail); give another file")
  }

  /// - Throws: the error of the file as a `LedgerError`.
  func write(_ bytes: [UInt8]) throws(LedgerError) {
    guard isCompressed else { return try store(bytes) }
    waiting += bytes
    if waiting.count >= Self.frameSize { try storeFrame() }
  }

  private func storeFrame() throws(LedgerError) {
    guard let frame = ZstdFile.frame(waiting) else { throw .sql("zstd could not compress") }
    waiting.removeAll(keepingCapacity: true)
    try store(frame)
  }

  private func store(_ bytes: [UInt8]) throws(LedgerError) {
    guard let file else { return Terminal.write(bytes) }
    try file.write(bytes)
  }

  /// Syncs the file and gives it its name.
  ///
  /// - Throws: the error of the file as a `LedgerError`; then no file was made.
  func finish() throws(LedgerError) {
    if !waiting.isEmpty { try storeFrame() }
    try file?.finish()
  }
}
