import Platform
package import StrictJSON

/// A customer's request for the money back: what the App Store asked the developer, what it was
/// told, and what it decided.
package struct RefundRequest: Sendable {
  /// Apple's consumptionRequestReason.
  enum Reason: String, Sendable, CaseIterable {
    case unintended = "UNINTENDED_PURCHASE"
    case fulfillment = "FULFILLMENT_ISSUE"
    case unsatisfied = "UNSATISFIED_WITH_PURCHASE"
    case legal = "LEGAL"
    case other = "OTHER"

    /// Whether a refund is for an issue of the app (Apple's revocationReason).
    var isIssue: Bool { self == .fulfillment || self == .unsatisfied }
  }

  /// How long the App Store waits for an answer, in milliseconds.
  static let answerTime = 12 * CivilTime.hour

  /// CONSUMPTION_REQUEST.
  package let asked: SimulatedNotification
  /// What was told of the purchase from then on, in the order in which it came.
  private(set) var answers: [RefundAnswer] = []
  /// REFUND or REFUND_DECLINED, and REFUND_REVERSED.
  package private(set) var outcomes: [SimulatedNotification] = []

  private var transactionId: String? { asked.transaction?.text("transactionId") }

  /// The index of the answer that counts: the last one within the time that the App Store waits.
  ///
  /// - Parameter date: when the App Store asked, milliseconds since 1970.
  static func counting(_ answers: [RefundAnswer], askedAt date: Int64) -> Int? {
    answers.lastIndex { date...date + answerTime ~= $0.received }
  }

  /// The requests of one customer, oldest first. An outcome is that of the newest request about its
  /// transaction, and so is an answer.
  ///
  /// - Parameters:
  ///   - notifications: in the order Apple signed them.
  ///   - answers: by transaction id, in the order in which they came.
  static func all(
    in notifications: [SimulatedNotification], answers: [String: [RefundAnswer]]
  ) -> [RefundRequest] {
    var requests: [RefundRequest] = []
    for notification in notifications {
      switch notification.type {
      case "CONSUMPTION_REQUEST": requests.append(RefundRequest(asked: notification))
      case "REFUND", "REFUND_DECLINED", "REFUND_REVERSED":
        let id = notification.transaction?.text("transactionId")
        guard let index = requests.lastIndex(where: { $0.transactionId == id }) else { continue }
        requests[index].outcomes.append(notification)
      default: break
      }
    }
    for id in Set(requests.compactMap(\.transactionId)) {
      for answer in answers[id] ?? [] {
        let index = requests.lastIndex {
          $0.transactionId == id && $0.asked.signedDate <= answer.received
        }
        if let index { requests[index].answers.append(answer) }
      }
    }
    return requests
  }

  /// The request as `GET /refund-requests` shows it, in Apple's names.
  package var json: JSONValue {
    var members = Members()
    members.add("notificationUUID", asked.uuid)
    for name in [
      "transactionId", "originalTransactionId", "appTransactionId", "productId", "type",
    ] { members.add(name, asked.transaction?.text(name)) }
    members.add(
      "consumptionRequestReason", asked.payload["data"]?.text("consumptionRequestReason"))
    members.add("signedDate", asked.signedDate)
    members.add("deadline", asked.signedDate + Self.answerTime)
    let counting = Self.counting(answers, askedAt: asked.signedDate)
    let told = answers.enumerated().map { $1.json(counts: $0 == counting) }
    members.list.append(("answers", .array(told)))
    members.list.append(("outcomes", .array(outcomes.map(Self.outcome))))
    return .object(members.list)
  }

  private static func outcome(_ notification: SimulatedNotification) -> JSONValue {
    var members = Members()
    members.add("notificationType", notification.type)
    members.add("notificationUUID", notification.uuid)
    members.add("signedDate", notification.signedDate)
    members.add("revocationType", notification.transaction?.text("revocationType"))
    members.add("revocationPercentage", notification.transaction?.number("revocationPercentage"))
    return .object(members.list)
  }
}

extension Purchase {
  /// How much of an auto-renewable subscription's period is left, in thousandths of a percent, of
  /// which neither all nor nothing; nil for any other product.
  ///
  /// - Parameter moment: milliseconds since 1970.
  func share(leftAt moment: Int64) -> Int64? {
    guard product.kind == .autoRenewable, let end = expiresDate, end > purchaseDate else {
      return nil
    }
    let left = (end - moment) * RefundAnswer.whole / (end - purchaseDate)
    return min(max(left, 1), RefundAnswer.whole - 1)
  }
}
