import SignedData
import StrictJSON

/// The secrets that Apple shares with each app, which are the only proof of V1 notifications
/// (promise 3).
struct V1Secrets: Sendable {
  /// SHA-256 of each secret and the app it is for. An app has two during a rotation.
  private let digests: [(sha256: [UInt8], bundleId: String)]

  init(_ apps: [String: Configuration.App]) {
    digests = apps.values.flatMap { app in
      app.v1SecretDigests.map { (sha256: $0, bundleId: app.bundleId) }
    }
  }

  /// Whether no app has a secret, so that no V1 notification is authentic.
  var isEmpty: Bool { digests.isEmpty }

  /// The bundle ids of the apps whose secret a body contains; empty unless `password` is a string
  /// that is not empty.
  ///
  /// Every secret is compared, so that the duration reveals nothing about a guess.
  func apps(_ root: JSONElement) -> Set<String> {
    guard let password = root["password"]?.string, !password.isEmpty else { return [] }
    let digest = SHA256.hash(Array(password.utf8))
    var found: Set<String> = []
    for known in digests where SHA256.areSame(known.sha256, digest) {
      found.insert(known.bundleId)
    }
    return found
  }

  /// Whether there is a member `password` anywhere below the top level, where it would be
  /// journaled.
  static func isHidden(in root: JSONElement, depth: Int = 0) -> Bool {
    for member in root.members {
      if depth > 0 && member.name == "password" { return true }
      if isHidden(in: member.value, depth: depth + 1) { return true }
    }
    return root.elements.contains { isHidden(in: $0, depth: depth + 1) }
  }
}
