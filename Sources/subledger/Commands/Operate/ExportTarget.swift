import Glibc
import JournalStore
import Platform

/// A file that is whole or not there, or standard output.
final class ExportTarget {
  private let file: AtomicFileWriter?

  init(_ path: String, isReplacing: Bool) throws(CommandError) {
    guard path != "-" else {
      guard !ProcessLimits.isTerminal(STDOUT_FILENO) else {
        throw .usage("this would fill the terminal; write to a file, or pipe it")
      }
      file = nil
      return
    }
    let kind = try Self.platform { () throws(PlatformError) in try FileKind.of(path) }
    guard kind != .file || isReplacing else {
      throw .unavailable("\(path) is there already; give another file, or --force")
    }
    // A rename would put a file in the place of a device or a link.
    guard kind == nil || kind == .file else {
      throw .unavailable("\(path) is no plain file; give another, or - for standard output")
    }
    file = try Self.platform { () throws(PlatformError) in try AtomicFileWriter(path) }
  }

  private static func platform<Value>(
    _ step: () throws(PlatformError) -> Value
  ) throws(CommandError) -> Value {
    do throws(PlatformError) {
      return try step()
    } catch {
      throw .unavailable("\(error); give another file")
    }
  }

  func write(_ bytes: [UInt8]) throws(StoreError) {
    guard let file else { return Terminal.write(bytes, to: STDOUT_FILENO) }
    do throws(PlatformError) { try file.write(bytes) } catch { throw StoreError(error) }
  }

  func finish() throws(StoreError) {
    do throws(PlatformError) { try file?.finish() } catch { throw StoreError(error) }
  }
}
