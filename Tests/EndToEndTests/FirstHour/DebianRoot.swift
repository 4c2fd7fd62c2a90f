import Foundation
import Support

/// A fresh Debian 12 in a folder, entered with chroot(8): its files are its own, its network is
/// that of the machine. Made and removed by `.ci/debian-root`.
final class DebianRoot {
  let folder: URL
  private let work: URL
  private static let script = DebianRoot.repository + "/.ci/debian-root"

  static let repository = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  init() throws {
    work = FileManager.default.temporaryDirectory.appending(path: "debian-\(UUID().uuidString)")
    folder = work.appending(path: "root")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    let made = try Self.host(Self.script, [folder.path], in: work).finish(within: 600)
    guard made.code == 0 else { throw TestFailure("no Debian: \(made)") }
  }

  deinit {
    _ = try? Self.host(Self.script, ["--remove", folder.path], in: work).finish(within: 60)
    try? FileManager.default.removeItem(at: work)
  }

  private static func host(
    _ program: String, _ arguments: [String], in work: URL
  ) throws -> RunningCommand {
    try RunningCommand(
      arguments, in: work, program: URL(filePath: program),
      environment: [
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
      ])
  }

  /// The outside path of a file in it.
  func path(_ inside: String) -> URL { folder.appending(path: inside) }

  /// Starts a command in it.
  ///
  /// - Parameter user: who runs it.
  func launch(as user: String = "root", _ arguments: [String]) throws -> RunningCommand {
    let person =
      user == "root"
      ? [] : ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
    return try Self.host(
      "/usr/sbin/chroot", [folder.path] + person + arguments, in: work)
  }

  /// Runs a command in it, which must end with 0.
  @discardableResult
  func run(as user: String = "root", _ arguments: String..., within seconds: Double = 300) throws
    -> String
  {
    let finished = try launch(as: user, arguments).finish(within: seconds)
    guard finished.code == 0 else { throw TestFailure("\(arguments): \(finished)") }
    return finished.output
  }

  /// Installs a package file of this machine, with what it depends on.
  func install(_ package: String) throws {
    let name = "/tmp/\(URL(filePath: package).lastPathComponent)"
    try? FileManager.default.removeItem(at: path(name))
    try FileManager.default.copyItem(at: URL(filePath: package), to: path(name))
    try run("apt-get", "install", "-qq", "--no-install-recommends", name, within: 600)
  }
}
