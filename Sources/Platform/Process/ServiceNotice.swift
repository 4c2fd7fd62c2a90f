import CLinux
import Glibc

/// The word that a service manager waits for: datagrams to the socket it names in NOTIFY_SOCKET
/// (sd_notify(3), "Notes": the protocol is stable and needs no library).
public struct ServiceNotice: Sendable {
  private let path: String?

  /// - Parameter variables: the process's; without NOTIFY_SOCKET nobody waits, and nothing is sent.
  public init(variables: [String: String]) {
    // AF_VSOCK and the like are for virtual machines.
    path = variables["NOTIFY_SOCKET"].flatMap { name in
      name.hasPrefix("/") || name.hasPrefix("@") ? name : nil
    }
  }

  public func ready() { send("READY=1") }

  public func stopping() { send("STOPPING=1") }

  /// `ready` says that it is done. The time tells it from an earlier one (Type=notify-reload).
  public func reloading() {
    send("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonicNanoseconds() / 1000)")
  }

  /// Keeps the watchdog quiet (WatchdogSec= in systemd.service(5)).
  public func alive() { send("WATCHDOG=1") }

  /// Nobody's answer is waited for, and a manager that is gone is none of our concern.
  private func send(_ state: String) {
    guard let path else { return }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
      guard name.count < room.count else { return false }
      room.copyBytes(from: name)
      // A name that is in no folder begins with NUL (unix(7), "abstract").
      if name.first == UInt8(ascii: "@") { room[0] = 0 }
      return true
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard fits else { return }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = sendto(
          descriptor, state, state.utf8.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), $0,
          length)
      }
    }
  }
}
