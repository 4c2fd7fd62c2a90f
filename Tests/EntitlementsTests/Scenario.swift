import AppStore
import Entitlements
import Testing

/// One scenario, parsed from the text of `Scenarios`.
struct Scenario: Sendable, CustomTestStringConvertible {
  struct Stream: Hashable { var environment = "Prod", id = "1000" }

  /// An event, and the row that its stream must have after it.
  struct Entry {
    let stream: Stream
    let event: FoldEvent
    var row = ""
  }

  /// The row that a stream must have as of a time.
  struct Answer {
    let stream: Stream
    let time: Int64
    let row: String
  }

  let title: String
  private(set) var entries: [Entry] = []
  private(set) var answers: [Answer] = []

  var testDescription: String { title }
  var streams: Set<Stream> { Set(entries.map(\.stream)) }

  static let all: [Scenario] = {
    let heading = "scenario "
    var scenarios: [Scenario] = []
    for line in Scenarios.text.split(separator: "\n") {
      if line.hasPrefix(heading) {
        scenarios.append(Scenario(title: String(line.dropFirst(heading.count))))
      } else if !scenarios.isEmpty {
        scenarios[scenarios.count - 1].read(line)
      }
    }
    return scenarios
  }()

  private init(title: String) { self.title = title }

  private mutating func read(_ line: Substring) {
    let fields = line.split(separator: " ").map(String.init)
    switch fields[0] {
    case "at": readAnswer(fields)
    case "=": entries[entries.count - 1].row = fields.dropFirst().joined(separator: " ")
    case "|": change { $0.renewal = Self.renewal(fields.dropFirst(), of: $0) }
    case _ where line.hasPrefix(" "): change { $0.transaction = Self.transaction(fields, of: $0) }
    default: readEvent(fields)
    }
  }

  private mutating func change(_ change: (inout FoldEvent) -> Void) {
    var event = entries[entries.count - 1].event
    change(&event)
    entries[entries.count - 1] = Entry(stream: entries[entries.count - 1].stream, event: event)
  }

  private static func stream(_ fields: [String]) -> Stream {
    guard let open = fields.firstIndex(where: { $0.hasPrefix("[") }) else { return Stream() }
    return Stream(
      environment: String(fields[open].dropFirst()), id: String(fields[open + 1].dropLast()))
  }

  private mutating func readAnswer(_ fields: [String]) {
    let rowStart = (fields.firstIndex(of: "=") ?? 0) + 1
    answers.append(
      Answer(
        stream: fields[2].hasPrefix("[") ? Self.stream(fields) : entries[0].stream,
        time: TestDate.parse(fields[1]),
        row: fields[rowStart...].joined(separator: " ")))
  }

  private mutating func readEvent(_ fields: [String]) {
    let names = fields[1].split(separator: "/").map(String.init)
    let status = fields.last.flatMap { $0.hasPrefix("status=") ? Int64($0.dropFirst(7)) : nil }
    let number = entries.count + 1
    entries.append(
      Entry(
        stream: Self.stream(fields),
        event: FoldEvent(
          seq: Int64(number), uuid: NotificationUUID(high: 7, low: UInt64(number)),
          notificationType: names[0], subtype: names.count > 1 ? names[1] : nil,
          signedDate: TestDate.parse(fields[0]), status: status)))
  }

  private static func transaction(_ fields: [String], of event: FoldEvent) -> Transaction {
    let dates = fields[2].split(separator: ">").map(String.init)
    var transaction = Transaction()
    transaction.transactionId = fields[0]
    transaction.productId = fields[1]
    transaction.purchaseDate = TestDate.parse(dates[0])
    transaction.expiresDate = dates[1] == "-" ? nil : TestDate.parse(dates[1])
    transaction.transactionReason = fields[3] == "R" ? "RENEWAL" : "PURCHASE"
    transaction.type = "Auto-Renewable Subscription"
    transaction.signedDate = event.signedDate
    for (name, value) in pairs(fields.dropFirst(4)) {
      switch name {
      case "rev": transaction.revocationDate = TestDate.parse(value)
      case "revType": transaction.revocationType = value
      case "revPct": transaction.revocationPercentage = Int64(value)
      case "type": transaction.type = value
      case "qty": transaction.quantity = Int64(value)
      case "own": transaction.inAppOwnershipType = value
      default: preconditionFailure("no such transaction field: \(name)")
      }
    }
    return transaction
  }

  private static func renewal(_ fields: ArraySlice<String>, of event: FoldEvent) -> RenewalInfo {
    var renewal = RenewalInfo()
    renewal.productId = event.transaction?.productId
    renewal.signedDate = event.signedDate
    for (name, value) in pairs(fields) {
      switch name {
      case "ars": renewal.autoRenewStatus = Int64(value)
      case "arp": renewal.autoRenewProductId = value
      case "rd": renewal.renewalDate = TestDate.parse(value)
      case "gpe": renewal.gracePeriodExpiresDate = TestDate.parse(value)
      case "birp": renewal.isInBillingRetryPeriod = value == "true"
      case "ei": renewal.expirationIntent = Int64(value)
      case "pis": renewal.priceIncreaseStatus = Int64(value)
      default: preconditionFailure("no such renewal field: \(name)")
      }
    }
    return renewal
  }

  private static func pairs(_ fields: ArraySlice<String>) -> [(String, String)] {
    fields.map { field in
      let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
      return (parts[0], parts[1])
    }
  }
}

/// Dates like `25-01-31T20:00`; a date alone means 10:00 UTC.
enum TestDate {
  static let day: Int64 = 86_400_000

  static func parse(_ text: String) -> Int64 {
    let parts = text.split(separator: "T")
    let date = parts[0].split(separator: "-").compactMap { Int64($0) }
    let clock = parts.count > 1 ? parts[1].split(separator: ":").compactMap { Int64($0) } : [10, 0]
    return days(2000 + date[0], date[1], date[2]) * day + clock[0] * 3_600_000 + clock[1] * 60_000
  }

  static func text(_ time: Int64) -> String {
    var (year, month) = (Int64(2000), Int64(1))
    let date = Int64((Double(time) / Double(day)).rounded(.down))
    while days(year + 1, 1, 1) <= date { year += 1 }
    while month < 12, days(year, month + 1, 1) <= date { month += 1 }
    let inDay = (time - date * day) / 60_000
    let clock = inDay == 600 ? "" : "T\(pad(inDay / 60)):\(pad(inDay % 60))"
    return "\(pad(year - 2000))-\(pad(month))-\(pad(date - days(year, month, 1) + 1))\(clock)"
  }

  private static func pad(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

  /// Days since 1970 of a date from 2000 to 2099.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let isLeap = year % 4 == 0
    let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return 10_957 + (year - 2000) * 365 + (year - 1997) / 4
      + lengths.prefix(Int(month) - 1).reduce(0, +) + day - 1
  }
}

extension Entitlement {
  /// The row as `Scenarios` writes it.
  var scenarioText: String {
    var fields = [status.rawValue, productId ?? "-"]
    func add(_ name: String, _ time: Int64?) {
      if let time { fields.append("\(name)=\(TestDate.text(time))") }
    }
    add("exp", expiresAt)
    if let autoRenew { fields.append("ar=\(autoRenew ? 1 : 0)") }
    if let pendingProductId { fields.append("pend=\(pendingProductId)") }
    add("grace", gracePeriodExpiresAt)
    add("rev", revokedAt)
    if hasGap { fields.append("gap") }
    return fields.joined(separator: " ")
  }
}
