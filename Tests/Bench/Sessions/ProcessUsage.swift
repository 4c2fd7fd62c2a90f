import Glibc
import Platform

/// What /proc says of a running process (proc(5)).
///
/// The kernel counts for all threads, the softirq work done in their time included.
struct ProcessUsage {
  let pid: Int32

  /// Seconds of processor time so far, user and system, all threads; in steps of 10 ms.
  func processorSeconds() throws(BenchError) -> Double {
    // The name in the second field may hold anything, blanks too; behind its bracket nothing does.
    let text = try Self.text("/proc/\(pid)/stat")
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw .unmeasurable("/proc/\(pid)/stat is not as proc(5) says")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Bytes resident now.
  func residentBytes() throws(BenchError) -> Int64 { try status("VmRSS:") }

  /// The most bytes that were ever resident.
  func peakBytes() throws(BenchError) -> Int64 { try status("VmHWM:") }

  /// How many descriptors it has open.
  func descriptors() -> Int { Folder.count("/proc/\(pid)/fd") }

  /// A line of `status`, which counts in units of 1024 bytes and calls them kB.
  private func status(_ name: String) throws(BenchError) -> Int64 {
    for line in try Self.text("/proc/\(pid)/status").split(separator: "\n")
    where line.hasPrefix(name) {
      let words = line.split { $0 == " " || $0 == "\t" }
      if words.count > 1, let kilobytes = Int64(words[1]) { return kilobytes * 1024 }
    }
    throw .unmeasurable("/proc/\(pid)/status has no \(name)")
  }

  /// A small file as text.
  static func text(_ path: String) throws(BenchError) -> String {
    do throws(PlatformError) {
      return String(decoding: try DurableFile.read(path, limit: 1 << 16), as: UTF8.self)
    } catch {
      throw .unmeasurable("\(error)")
    }
  }
}
