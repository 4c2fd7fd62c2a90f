import HTTPServer
import StrictJSON

/// Request a Test Notification, and Get Test Notification Status.
extension APIRoutes {
  /// - Throws: `APIError.noNotificationURL` if the app has no address for notifications.
  func requestTest(_ facts: inout AppFacts) throws(APIError) -> HTTPResponse {
    guard hasNotificationURL else { throw .noNotificationURL }
    let made = Lifecycle.named("test")?.notifications(
      app: facts.app, seed: .random(in: 0...UInt64.max), endingAt: moment
    ).last
    guard let made else { throw .internalError }
    let index = facts.add(made, due: moment)
    return .json([("testNotificationToken", .string(token(index, facts)))])
  }

  /// - Throws: `APIError.testNotFound` until the first attempt has ended; `.invalidTestToken` for a
  ///   text that is no token.
  func testStatus(
    _ token: String, _ facts: inout AppFacts
  ) throws(APIError) -> HTTPResponse {
    let parts = token.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 36, let index = Int(parts[1]), index >= 0 else {
      throw .invalidTestToken
    }
    // One without an attempt may be of a life that then went another way.
    guard index < facts.sent.count, !facts.sent[index].attempts.isEmpty,
      self.token(index, facts) == token
    else { throw .testNotFound }
    let text = try facts.signedPayload(index, authority)
    return .json(Self.item(text, facts.sent[index].attempts))
  }

  private func token(_ index: Int, _ facts: AppFacts) -> String {
    "\(facts.notification(index).uuid)_\(index)"
  }
}
