import Delivery
import Entitlements
import Queries
import Store
import StrictJSON

/// The named schemas of the OpenAPI document, in its order. Those of answers follow from the
/// objects that write them.
enum Schemas {
  static let named: [(String, JSONSchema)] = [
    ("Entitlement", RowDocument.object.definition), ("EntitlementList", Answers.rows.definition),
    ("FoundPurchase", FoundPurchase.object.definition),
    ("FoundPurchaseList", Answers.all(of: FoundPurchase.object).definition),
    ("OrderPurchase", OrderPurchase.object.definition),
    ("OrderPurchaseList", Answers.all(of: OrderPurchase.object).definition),
    ("Transaction", TransactionLine.object.definition),
    ("TransactionList", Answers.list(of: TransactionLine.object).definition),
    ("RefundRequest", RefundDocument.object.definition),
    ("RefundRequestList", Answers.list(of: RefundDocument.object).definition), of(.refundWord),
    ("RefundOutlook", RefundOutlook.object.definition),
    ("RefundAnswered", Answers.refund.definition), of(.consent),
    ("History", History.object { $0.json }.definition),
    ("HistoryEvent", HistoryEntry.object.definition),
    ("HistoryTransition", HistoryTransition.object.definition),
    ("HistoryMapping", HistoryMapping.object.definition),
    ("HistoryQuarantined", QuarantinedEntry.object.definition),
    ("Customer", CustomerDocument.object.definition),
    ("NamedEntitlement", NamedAnswer.object.definition),
    ("CustomerList", Answers.list(of: CustomerDocument.object).definition),
    of(.customerQuery(nil)), ("Overview", Overview.Answer.object.definition),
    ("Quarantined", QuarantinedEntry.object.definition),
    ("QuarantineList", Answers.list(of: QuarantinedEntry.object).definition),
    ("ReportList", Answers.all(of: Report.object).definition),
    ("Report", Answers.report.definition), ("Comparison", Comparison.object.definition),
    ("ComparisonGroup", ProjectionDiff.Summary.group.definition),
    ("Difference", RowDifference.object.definition), ("Version", Answers.version.definition),
    ("Taken", Answers.journaled.definition), ("State", Answers.state.definition),
    ("Ready", Answers.ready.definition), of(.notificationV2),
    of(.notificationV1), of(.signedTransaction),
    ("Submitted", Answers.submitted.definition), of(.claim),
    ("Erased", Answers.erased.definition), of(.grant(nil)),
    ("Grant", GrantDocument.object.definition), ("Granted", Answers.granted.definition),
    ("GrantList", Answers.list(of: GrantDocument.object).definition), of(.appReceipt),
    ("Receipt", Answers.receipt.definition), ("Event", Feed.item.definition),
    ("EventPage", Feed.object.definition), ("Sink", DeliveryStatus.object.definition),
    ("SinkList", Answers.all(of: DeliveryStatus.object).definition),
    ("Problem", Problem.object.definition),
    ("Message", Message.object.definition), ("MessageData", Message.content.definition),
  ]

  private static func of(_ body: RequestBody) -> (String, JSONSchema) { (body.name, body.schema) }
}
