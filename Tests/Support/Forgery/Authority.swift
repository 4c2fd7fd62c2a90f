package import AppStoreSimulator
import Foundation
package import SignedData
package import StrictJSON

/// A simulated authority with all its keys, so that every kind of wrong chain can be made under a
/// trusted root.
package struct Authority: Sendable {
  package let simulated: SimulatedAuthority
  package let rootKey: SigningKey
  package let intermediateKey: SigningKey

  /// One authority for all tests, which do not change it.
  package static let shared = Result { try Authority() }

  package init() throws {
    let folder = NSTemporaryDirectory() + "forgery-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    simulated = try SimulatedAuthority.create(at: folder + "/authority")
    rootKey = try Self.key(folder + "/authority/root.key.pem")
    intermediateKey = try Self.key(folder + "/authority/intermediate.key.pem")
  }

  private static func key(_ path: String) throws -> SigningKey {
    try SigningKey.read(pem: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
  }

  package var root: [UInt8] { simulated.root }
  package var chain: [[UInt8]] { simulated.chain }
  package var leafKey: SigningKey { simulated.leafKey }

  package func signed(_ notification: JSONValue) throws -> [UInt8] {
    try simulated.signedPayload(notification)
  }
}
