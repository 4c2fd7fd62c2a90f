import Glibc
import JournalStore
import Platform

/// The output of an export: standard output, or a file that appears only when it is complete.
final class ExportTarget {
  private let file: AtomicFileWriter?

  /// - Throws: `CommandError.usage` if the lines would go to a terminal, `CommandError.unavailable`
  ///   if the file exists and is not to be replaced, is not a regular file, or cannot be made.
  init(_ path: String, isReplacing: Bool) throws(CommandError) {
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

  private static func unavailable(_ error: PlatformError) -> CommandError {
    .unavailable("\(error); give another file")
  }

  /// - Throws: the error of the file as a `StoreError`.
  func write(_ bytes: [UInt8]) throws(StoreError) {
    guard let file else { return Terminal.write(bytes) }
    try mapError(StoreError.init, try file.write(bytes))
  }

  /// Syncs the file and gives it its name.
  ///
  /// - Throws: the error of the file as a `StoreError`; then no file was made.
  func finish() throws(StoreError) {
    try mapError(StoreError.init, try file?.finish())
  }
}
