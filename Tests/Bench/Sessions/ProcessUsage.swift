import Glibc
import Platform

/// The resources used by a running process, by /proc (proc(5)).
///
/// The kernel's counts are for all threads, including softirq work done in their time.
struct ProcessUsage {
  let pid: Int32

  /// Seconds of processor time so far, user and system, of all threads; in steps of 10 ms.
  ///
  /// - Throws: `BenchError.unmeasurable` if the process has ended.
  func processorSeconds() throws(BenchError) -> Double {
    // The program's name in the second field may contain spaces; the fields after its closing
    // parenthesis do not.
    let text = try Self.text("/proc/\(pid)/stat")
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw .unmeasurable("/proc/\(pid)/stat does not have the format of proc(5)")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// The resident bytes now.
  ///
  /// - Throws: `BenchError.unmeasurable` if the process has ended.
  func residentBytes() throws(BenchError) -> Int64 { try status("VmRSS:") }

  /// The peak of the resident bytes.
  ///
  /// - Throws: `BenchError.unmeasurable` if the process has ended.
  func peakBytes() throws(BenchError) -> Int64 { try status("VmHWM:") }

  /// The number of open descriptors.
  func descriptors() -> Int { Folder.count("/proc/\(pid)/fd") }

  /// A value of `status` in bytes; the file has it in units of 1024 bytes, written "kB".
  private func status(_ name: String) throws(BenchError) -> Int64 {
    for line in try Self.text("/proc/\(pid)/status").split(separator: "\n")
    where line.hasPrefix(name) {
      let fields = line.split { $0 == " " || $0 == "\t" }
      if fields.count > 1, let kilobytes = Int64(fields[1]) { return kilobytes * 1024 }
    }
    throw .unmeasurable("/proc/\(pid)/status has no \(name)")
  }

  /// A small file as text.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be read or is larger than 64 KiB.
  static func text(_ path: String) throws(BenchError) -> String {
    do throws(LedgerError) {
      return String(decoding: try DurableFile.read(path, limit: 1 << 16), as: UTF8.self)
    } catch {
      throw .unmeasurable(error.detail)
    }
  }
}
