import Glibc

/// Where this program lies.
public enum ProgramPath {
  /// Absolute, without links (proc(5), `/proc/self/exe`); its name alone where nobody knows.
  public static var own: String {
    var room = [UInt8](repeating: 0, count: 4096)
    let count = room.withUnsafeMutableBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        text.baseAddress.map { readlink("/proc/self/exe", $0, text.count) } ?? -1
      }
    }
    return count > 0 ? String(decoding: room[..<count], as: UTF8.self) : "subledger"
  }
}
