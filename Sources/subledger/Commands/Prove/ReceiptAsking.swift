import AppStore
import Clients
import Ledger
import Platform
import StrictJSON

/// What Apple's verifyReceipt says about a receipt, beside what was read and proven offline.
struct ReceiptAsking {
  private let answer: VerifyReceipt.Answer
  /// Nil if Apple did not decode the receipt.
  private let comparison: ReceiptComparison?

  /// Sends the receipt to Apple.
  ///
  /// - Throws: `LedgerError.unavailable` if Apple did not answer, or says that it cannot judge the
  ///   receipt now; `.configuration` if the file of the app's secrets has become unusable;
  ///   `.stopped`.
  init(
    _ der: [UInt8], _ receipt: AppReceipt, _ configuration: Configuration
  ) throws(LedgerError) {
    let app = configuration.apps[receipt.bundleId]
    let secrets = try app?.readV1Secrets() ?? []
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    let addresses = VerifyReceipt.Addresses(
      production: configuration.verifyReceipt.production,
      sandbox: configuration.verifyReceipt.sandbox)
    let service = try mapError(
      { (error: ClientError) in LedgerError.unavailable("\(error)") },
      try VerifyReceipt(
        addresses, version: Subledger.version, proxy: app?.appStore?.proxy,
        cancellation: cancellation))
    answer = try mapError(Self.failure, try service.ask(der, secrets: secrets))
    guard !answer.status.isTemporary else {
      throw .unavailable("Apple answers \(answer.status.code): \(answer.status.explanation)")
    }
    comparison = answer.status.isValid ? ReceiptComparison(receipt, answer.body) : nil
  }

  private static func failure(_ failure: VerifyReceipt.Failure) -> LedgerError {
    if case .transport(.cancelled) = failure { return .stopped("stopped") }
    return .unavailable("\(failure)")
  }

  /// Whether Apple vouches for the receipt and reads it as we do.
  var agrees: Bool { comparison.map(\.differences.isEmpty) ?? false }

  var json: JSONValue {
    .object([
      ("environment", .string(answer.environment.rawValue)),
      ("status", .integer(answer.status.code)),
      ("explanation", .string(answer.status.explanation)),
      ("agrees", comparison.map { .boolean($0.differences.isEmpty) } ?? .null),
      (
        "differences",
        .array(
          (comparison?.differences ?? []).map { difference in
            .object([
              ("transaction_id", .optional(difference.transactionId)),
              ("field", .string(difference.field)), ("ours", .optional(difference.ours)),
              ("apples", .optional(difference.apples)),
            ])
          })
      ),
      ("later", .array((comparison?.later ?? []).map(JSONValue.string))),
      ("cancelled_later", .array((comparison?.cancelledLater ?? []).map(JSONValue.string))),
    ])
  }

  var text: String {
    let status = answer.status
    var lines = ["Apple (\(answer.environment)) answers \(status.code): \(status.explanation)"]
    guard let comparison else { return lines[0] }
    if comparison.differences.isEmpty {
      lines.append("its reading agrees with ours: \(CountText.of(comparison.records, "purchases"))")
    }
    for difference in comparison.differences {
      let place = difference.transactionId.map { "transaction \($0): " } ?? ""
      lines.append(
        "DIFFERS: \(place)\(difference.field) is \(difference.ours ?? "absent") here and "
          + "\(difference.apples ?? "absent") at Apple")
    }
    if !comparison.later.isEmpty {
      lines.append("bought since the receipt: " + comparison.later.joined(separator: ", "))
    }
    if !comparison.cancelledLater.isEmpty {
      lines.append("cancelled since: " + comparison.cancelledLater.joined(separator: ", "))
    }
    return lines.joined(separator: "\n")
  }
}
