public import AppStore

/// An event as far as it is about a request for a refund.
public struct RefundEvent: Sendable, Hashable {
  public enum Content: Sendable, Hashable {
    /// Apple asks what is known of the purchase; why the customer wants the money back.
    case request(reason: String?, isV1: Bool)
    case outcome(RefundRequest.Outcome)
    case statement(RefundStatement)
  }

  public let content: Content
  public let uuid: NotificationUUID
  /// When it was said or done, milliseconds since 1970.
  public let at: Int64
  /// When it was journaled, milliseconds since 1970.
  public let receivedAt: Int64
  /// Of the purchase; empty for a statement, which names the request.
  public let transactionId: String
  /// What the same purchase has in common under all its ids, if that is told.
  public let purchaseName: String?

  /// What the owner said or did.
  ///
  /// - Parameter at: milliseconds since 1970, by our clock.
  public init(_ statement: RefundStatement, uuid: NotificationUUID, at: Int64) {
    content = .statement(statement)
    (self.uuid, self.at, receivedAt) = (uuid, at, at)
    (transactionId, purchaseName) = ("", nil)
  }

  private init(
    _ content: Content, _ transaction: Transaction, _ event: FoldEvent, at: Int64, receivedAt: Int64
  ) {
    self.content = content
    (uuid, self.at, self.receivedAt) = (event.uuid, at, receivedAt)
    (transactionId, purchaseName) = (transaction.transactionId, transaction.purchaseName)
  }

  fileprivate static let requestType = "CONSUMPTION_REQUEST"

  /// What an event of Apple's says of requests. A refund is also told by any purchase that is
  /// revoked: its notification may have been lost. V1 has no date of its own, so that the time
  /// counts at which it was received.
  public static func all(in event: FoldEvent, receivedAt: Int64) -> [RefundEvent] {
    let isV1 = event.source == .v1
    let said = isV1 ? receivedAt : event.signedDate
    func about(_ transaction: Transaction, _ content: Content, at: Int64?) -> RefundEvent {
      RefundEvent(content, transaction, event, at: at ?? said, receivedAt: receivedAt)
    }
    switch event.notificationType {
    case requestType:
      let reason = event.consumptionRequestReason
      let newest = event.transactions.max(by: V1Notification.isOlder)
      return newest.map { [about($0, .request(reason: reason, isV1: isV1), at: said)] } ?? []
    case "REFUND_DECLINED":
      return event.transactions.map { about($0, .outcome(.declined), at: said) }
    case "REFUND_REVERSED":
      return event.transactions.map { about($0, .outcome(.reversed), at: said) }
    case "REVOKE": return []
    case let type:
      return event.transactions.filter { type == "REFUND" && !isV1 || $0.isRefunded }.map {
        about(
          $0, .outcome(.refunded(type: $0.revocationType, percentage: $0.revocationPercentage)),
          at: type == "REFUND" ? said : $0.revocationDate)
      }
    }
  }
}

extension FoldEvent {
  /// Whether Apple asks about a refund.
  public var isRefundRequest: Bool { notificationType == RefundEvent.requestType }

  /// Whether it says anything of requests for refunds.
  public var isAboutRefunds: Bool { !RefundEvent.all(in: self, receivedAt: 0).isEmpty }
}

extension Transaction {
  /// Whether it was taken back from who had paid for it. The cancellation date of V1 is that of an
  /// upgrade, too.
  fileprivate var isRefunded: Bool {
    revocationDate != nil && !isUpgraded && revocationType?.hasPrefix("REFUND") ?? true
      && inAppOwnershipType ?? "PURCHASED" == "PURCHASED"
  }
}
