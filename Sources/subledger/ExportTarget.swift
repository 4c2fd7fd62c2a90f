import Glibc
import JournalStore
import Platform

/// A file that is whole or not there, or standard output.
final class ExportTarget {
  private let file: StreamedFile?

  init(_ path: String, isReplacing: Bool) throws(CommandError) {
    guard path != "-" else {
      guard !ProcessLimits.isTerminal(STDOUT_FILENO) else {
        throw .usage("this would fill the terminal; write to a file, or pipe it")
      }
      file = nil
      return
    }
    do throws(PlatformError) {
      let isThere = try DurableFile.size(path) != nil
      if isThere && !isReplacing { throw .system("make \(path)", EEXIST) }
      file = try StreamedFile(path)
    } catch {
      throw .unavailable("\(error); give another --output, or --force")
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
