import AppStore
import Entitlements
import StrictJSON
import Support

/// What version 1 of the notifications sends about a life, read by the parser of the ledger.
extension Telling {
  /// The bodies for a step; none where version 1 sends nothing.
  ///
  /// - Parameter isOld: as in 2019: one transaction at the top, and no original transaction id.
  mutating func versionOne(_ step: Life.Step, isOld: Bool = false) throws -> [Fact] {
    guard let state = life.state(at: step.at) else { return [] }
    return try step.versionOne.map { type in
      var body: [(String, JSONValue)] = [
        ("notification_type", .string(type)), ("environment", .string("PROD")),
      ]
      body += changeDate(type, step.at)
      let told: [Int]
      if isOld {
        told = [step.purchase]
        body += olderMembers(step.purchase, of: state)
      } else {
        told = state.purchases.indices.map { $0 }
        body += newerMembers(state)
      }
      var bytes: [UInt8] = []
      JSONValue.object(body).write(into: &bytes)
      let read = try V1Notification(try JSONDocument(parsing: bytes).root)
      let event = FoldEvent(
        seq: 1, uuid: uuid(), notificationType: type, subtype: nil, signedDate: read.evidenceDate,
        source: .v1, transactions: read.transactions, renewal: read.renewal,
        receiptDate: step.at, renewalChangeDate: changedAt(type, step.at))
      let hasRenewal = !isOld && life.isSubscription
      return Fact(
        moment: step.at, event: event, purchases: Set(told),
        renewal: hasRenewal ? .versionOne : nil)
    }
  }

  // MARK: auto_renew_status_change_date

  /// When auto-renew was turned on or off last, for the types that say it. A purchase turns it on.
  private func changedAt(_ type: String, _ moment: Int64) -> Int64? {
    guard type == "DID_CHANGE_RENEWAL_STATUS" || type == "CANCEL" else { return nil }
    let told = life.states.filter { $0.at <= moment && $0.renewal != nil }
    guard let last = told.last?.renewal else { return nil }
    let before = told.lastIndex { $0.renewal?.isOn != last.isOn }
    let bought = told.last?.purchases.last { !$0.isRenewal }?.begins ?? 0
    return max(told[before.map { $0 + 1 } ?? 0].at, last.isOn ? bought : 0)
  }

  private func changeDate(_ type: String, _ moment: Int64) -> [(String, JSONValue)] {
    changedAt(type, moment).map { date("auto_renew_status_change_date", $0) } ?? []
  }

  // MARK: Bodies

  private func newerMembers(_ state: State) -> [(String, JSONValue)] {
    var receipt: [(String, JSONValue)] = [
      ("environment", .string("Production")),
      (
        "latest_receipt_info",
        .array(state.purchases.indices.map { .object(entry($0, of: state)) })
      ),
    ]
    var top: [(String, JSONValue)] = [("original_transaction_id", .number(Self.stream))]
    if let renewal = state.renewal {
      receipt.append(("pending_renewal_info", .array([.object(pending(renewal))])))
      top.append(("auto_renew_status", .string(renewal.isOn ? "true" : "false")))
      top.append(("auto_renew_product_id", .string(renewal.next)))
    }
    return top + [("unified_receipt", .object(receipt))]
  }

  private func olderMembers(_ index: Int, of state: State) -> [(String, JSONValue)] {
    var top: [(String, JSONValue)] = [("latest_receipt_info", .object(entry(index, of: state)))]
    if let renewal = state.renewal {
      top.append(("auto_renew_status", .string(renewal.isOn ? "true" : "false")))
      top.append(("auto_renew_product_id", .string(renewal.next)))
    }
    return top
  }

  private func entry(_ index: Int, of state: State) -> [(String, JSONValue)] {
    let purchase = state.purchases[index]
    var entry: [(String, JSONValue)] = [
      ("transaction_id", .string(Self.id(index, isSecond: false))),
      ("original_transaction_id", .string(Self.stream)),
      ("product_id", .string(purchase.product)),
      ("in_app_ownership_type", .string(life.ownership)),
      ("is_trial_period", .string(purchase.isTrial ? "true" : "false")),
    ]
    if life.isSubscription { entry.append(("web_order_line_item_id", .string("\(9000 + index)"))) }
    entry += date("purchase_date", purchase.begins)
    if let expires = purchase.expires { entry += date("expires_date", expires) }
    if purchase.isUpgraded { entry.append(("is_upgraded", .string("true"))) }
    let upgraded = purchase.isUpgraded ? purchase.ends : nil
    if let end = purchase.revoked ?? upgraded { entry += date("cancellation_date", end) }
    return entry
  }

  private func pending(_ renewal: Renewal) -> [(String, JSONValue)] {
    var entry: [(String, JSONValue)] = [
      ("original_transaction_id", .string(Self.stream)),
      ("product_id", .string(renewal.product)),
      ("auto_renew_product_id", .string(renewal.next)),
      ("auto_renew_status", .string(renewal.isOn ? "1" : "0")),
    ]
    if let retrying = renewal.isRetrying {
      entry.append(("is_in_billing_retry_period", .string(retrying ? "1" : "0")))
    }
    if let intent = renewal.intent { entry.append(("expiration_intent", .string("\(intent)"))) }
    if let end = renewal.graceEnd { entry += date("grace_period_expires_date", end) }
    return entry
  }

  private func date(_ name: String, _ time: Int64) -> [(String, JSONValue)] {
    [(name + "_ms", .string("\(time)"))]
  }
}
