import CLinux
import Glibc

/// Tells the service manager the state of this process: datagrams to the socket that it names in
/// NOTIFY_SOCKET (sd_notify(3), "Notes": the protocol is stable and needs no library).
public struct ServiceNotice: Sendable {
  private let path: String?

  /// - Parameter variables: the process's environment; without NOTIFY_SOCKET nothing is sent.
  public init(variables: [String: String]) {
    // Other forms (`vsock:`) are for virtual machines and are not supported.
    path = variables["NOTIFY_SOCKET"].flatMap { name in
      name.hasPrefix("/") || name.hasPrefix("@") ? name : nil
    }
  }

  /// The process serves requests, or has finished reloading.
  public func ready() { send("READY=1") }

  /// The process is shutting down.
  public func stopping() { send("STOPPING=1") }

  /// The process begins to reload its configuration; `ready` ends that. The manager requires the
  /// time, to tell this message from an earlier one (Type=notify-reload in systemd.service(5)).
  public func reloading() {
    send("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonicNanoseconds() / 1000)")
  }

  /// Resets the watchdog's timer (WatchdogSec= in systemd.service(5)).
  public func alive() { send("WATCHDOG=1") }

  /// Sends without blocking. Errors are ignored: the process works without a service manager.
  private func send(_ state: String) {
    guard let path else { return }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { buffer in
      guard name.count < buffer.count else { return false }
      buffer.copyBytes(from: name)
      // An abstract name, written with "@", begins with NUL (unix(7)).
      if name.first == UInt8(ascii: "@") { buffer[0] = 0 }
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
