import StrictJSON

/// Which notifications Get Notification History returns. Source:
/// developer.apple.com/documentation/appstoreserverapi/notificationhistoryrequest.
public struct NotificationHistoryQuery: Sendable {
  /// Milliseconds since 1970. Apple has 180 days of Production, 30 of the Sandbox.
  var startDate: Int64
  /// Milliseconds since 1970, after `startDate`; a time in the future means now.
  var endDate: Int64
  /// Only notifications that have not reached the server.
  var onlyFailures: Bool

  public init(startDate: Int64, endDate: Int64, onlyFailures: Bool = false) {
    self.startDate = startDate
    self.endDate = endDate
    self.onlyFailures = onlyFailures
  }

  /// Without the members that are not set. Each page needs exactly the same body.
  var body: [UInt8] {
    var members: [(String, JSONValue)] = [
      ("startDate", .integer(startDate)), ("endDate", .integer(endDate)),
    ]
    if onlyFailures { members.append(("onlyFailures", .boolean(true))) }
    return JSONValue.object(members).bytes
  }
}

/// An attempt of Apple to send a notification.
public struct SendAttempt: Sendable, Equatable {
  /// Milliseconds since 1970.
  public let date: Int64
  /// SUCCESS, TIMED_OUT and others (…/appstoreserverapi/sendattemptresult); unknown values are
  /// kept.
  public let result: String
}

/// A notification that Apple sent, or tried to.
public struct SentNotification: Sendable, Equatable {
  /// The JWS as Apple sent it, not proven.
  public let signedPayload: String
  /// At most six, in no certain order.
  public let sendAttempts: [SendAttempt]

  init(_ answer: AnswerReader) throws(AnswerFault) {
    signedPayload = try answer.text("signedPayload")
    sendAttempts = try answer.list("sendAttempts") { (attempt) throws(AnswerFault) in
      SendAttempt(
        date: try attempt.integer("attemptDate"), result: try attempt.text("sendAttemptResult"))
    }
  }
}

/// At most 20 notifications, in no certain order.
public struct NotificationHistoryPage: Sendable, Equatable {
  public let notifications: [SentNotification]
  public let hasMore: Bool
  /// For the next page. `hasMore` decides whether there is one, not this.
  public let paginationToken: String?
}

extension AppStoreClient {
  /// One page of Get Notification History.
  ///
  /// - Parameter paginationToken: of the page before; nil for the first.
  /// - Throws: `AppStoreError`; its code's action is `restart` if the token is no longer valid.
  public func notificationHistory(
    _ query: NotificationHistoryQuery, paginationToken: String?
  ) throws(AppStoreError) -> NotificationHistoryPage {
    let token = paginationToken.map { [(name: "paginationToken", value: $0)] } ?? []
    let call = Call(
      endpoint: .notificationHistory, path: ["v1", "notifications", "history"], query: token,
      method: .post, body: query.body)
    return try answer(call) { (answer) throws(AnswerFault) in
      let page = NotificationHistoryPage(
        notifications: try answer.list("notificationHistory") { (item) throws(AnswerFault) in
          try SentNotification(item)
        },
        hasMore: try answer.boolean("hasMore"),
        paginationToken: try answer.optionalText("paginationToken"))
      guard !page.hasMore || page.paginationToken != nil else {
        throw AnswerFault("there is more, and no paginationToken")
      }
      // Otherwise a caller would ask for the same page for ever.
      guard !page.notifications.isEmpty || !page.hasMore || page.paginationToken != paginationToken
      else { throw AnswerFault("an empty page leads to itself") }
      return page
    }
  }

  /// Requests a Test Notification; returns the token by which its status is asked for.
  ///
  /// - Throws: `AppStoreError`.
  public func requestTestNotification() throws(AppStoreError) -> String {
    let call = Call(
      endpoint: .requestTestNotification, path: ["v1", "notifications", "test"], method: .post)
    return try answer(call) { (answer) throws(AnswerFault) in
      try answer.text("testNotificationToken")
    }
  }

  /// Get Test Notification Status.
  ///
  /// - Throws: `AppStoreError`; its code's action is `later` until the first attempt is recorded.
  public func testNotificationStatus(_ token: String) throws(AppStoreError) -> SentNotification {
    let call = Call(
      endpoint: .testNotificationStatus, path: ["v1", "notifications", "test", token])
    return try answer(call) { (answer) throws(AnswerFault) in try SentNotification(answer) }
  }
}
