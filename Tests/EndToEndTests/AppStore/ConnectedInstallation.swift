import AppStoreSimulator
import Foundation
import StrictJSON
import Support

/// An installation, its daemon, and the local App Store that sends to it and is asked by it.
class ConnectedInstallation {
  let installation: Installation
  let daemon: RunningDaemon
  let store: RunningAppStore

  /// - Parameters:
  ///   - served: the apps that the daemon starts with; the configuration has both environments
  ///     afterwards.
  ///   - trusts: whether the daemon trusts the App Store.
  ///   - sends: whether the App Store has a URL to send to.
  ///   - arguments: of the App Store.
  init(
    served: [JSONValue] = [Installation.app()], trusts: Bool = true, sends: Bool = true,
    _ arguments: [String] = ["--customers", "1"]
  ) throws {
    installation = try Installation()
    let folder = installation.folder.appending(path: "authority")
    _ = try SimulatedAuthority.create(at: folder.path)
    let root = trusts ? folder.appending(path: "root.der") : installation.root
    try installation.configure(
      apps: served, with: [("trustRoots", .array([.string(root.path)]))])
    daemon = try installation.start()
    let address = "http://127.0.0.1:\(daemon.port)"
    store = try RunningAppStore(
      folder, arguments + (sends ? ["--notify", address] : []), in: installation)
    try installation.configure(store)
  }
}
