import Glibc

/// The path of this program.
public enum ProgramPath {
  /// Absolute and without symbolic links (proc(5), `/proc/self/exe`); `subledger` if /proc is not
  /// mounted.
  public static var own: String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        text.baseAddress.map { readlink("/proc/self/exe", $0, text.count) } ?? -1
      }
    }
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : "subledger"
  }
}
