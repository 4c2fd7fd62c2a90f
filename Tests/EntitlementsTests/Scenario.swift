import AppStore
import Entitlements
import Testing

/// One story, read from its text.
struct Scenario: Sendable, CustomTestStringConvertible {
  struct Stream: Hashable { var environment = "Prod", id = "1000" }

  struct Told {
    let stream: Stream
    let event: FoldEvent
    var row = ""
  }

  struct Answer {
    let stream: Stream
    let time: Int64
    let row: String
  }

  let title: String
  private(set) var told: [Told] = []
  private(set) var answers: [Answer] = []

  var testDescription: String { title }
  var streams: Set<Stream> { Set(told.map(\.stream)) }

  static let all: [Scenario] = {
    var stories: [Scenario] = []
    for line in Scenarios.text.split(separator: "\n") {
      if line.hasPrefix("story ") {
        stories.append(Scenario(title: String(line.dropFirst(6))))
      } else if !stories.isEmpty {
        stories[stories.count - 1].read(line)
      }
    }
    return stories
  }()

  private init(title: String) { self.title = title }

  private mutating func read(_ line: Substring) {
    let words = line.split(separator: " ").map(String.init)
    switch words[0] {
    case "at": readAnswer(words)
    case "=": told[told.count - 1].row = words.dropFirst().joined(separator: " ")
    case "|": change { $0.renewal = Self.renewal(words.dropFirst(), of: $0) }
    case _ where line.hasPrefix(" "): change { $0.transaction = Self.transaction(words, of: $0) }
    default: readEvent(words)
    }
  }

  private mutating func change(_ change: (inout FoldEvent) -> Void) {
    var event = told[told.count - 1].event
    change(&event)
    told[told.count - 1] = Told(stream: told[told.count - 1].stream, event: event)
  }

  private static func stream(_ words: [String]) -> Stream {
    guard let open = words.firstIndex(where: { $0.hasPrefix("[") }) else { return Stream() }
    return Stream(
      environment: String(words[open].dropFirst()), id: String(words[open + 1].dropLast()))
  }

  private mutating func readAnswer(_ words: [String]) {
    let rowStart = (words.firstIndex(of: "=") ?? 0) + 1
    answers.append(
      Answer(
        stream: words[2].hasPrefix("[") ? Self.stream(words) : told[0].stream,
        time: TestDate.parse(words[1]),
        row: words[rowStart...].joined(separator: " ")))
  }

  private mutating func readEvent(_ words: [String]) {
    let names = words[1].split(separator: "/").map(String.init)
    let status = words.last.flatMap { $0.hasPrefix("status=") ? Int64($0.dropFirst(7)) : nil }
    let number = told.count + 1
    told.append(
      Told(
        stream: Self.stream(words),
        event: FoldEvent(
          seq: Int64(number), uuid: NotificationUUID(high: 7, low: UInt64(number)),
          notificationType: names[0], subtype: names.count > 1 ? names[1] : nil,
          signedDate: TestDate.parse(words[0]), status: status)))
  }

  private static func transaction(_ words: [String], of event: FoldEvent) -> Transaction {
    let dates = words[2].split(separator: ">").map(String.init)
    var transaction = Transaction()
    transaction.transactionId = words[0]
    transaction.productId = words[1]
    transaction.purchaseDate = TestDate.parse(dates[0])
    transaction.expiresDate = dates[1] == "-" ? nil : TestDate.parse(dates[1])
    transaction.transactionReason = words[3] == "R" ? "RENEWAL" : "PURCHASE"
    transaction.type = "Auto-Renewable Subscription"
    transaction.signedDate = event.signedDate
    for (name, value) in pairs(words.dropFirst(4)) {
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

  private static func renewal(_ words: ArraySlice<String>, of event: FoldEvent) -> RenewalInfo {
    var renewal = RenewalInfo()
    renewal.productId = event.transaction?.productId
    renewal.signedDate = event.signedDate
    for (name, value) in pairs(words) {
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

  private static func pairs(_ words: ArraySlice<String>) -> [(String, String)] {
    words.map { word in
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      return (parts[0], parts[1])
    }
  }
}

/// `25-01-31T20:00`, or a date alone for ten in the morning.
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

  /// Days since 1970 of a date from 2000 to 2099, counted year by year and month by month.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let isLeap = year % 4 == 0
    let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return 10_957 + (year - 2000) * 365 + (year - 1997) / 4
      + lengths.prefix(Int(month) - 1).reduce(0, +) + day - 1
  }
}

extension Entitlement {
  /// The row as stories write it.
  var told: String {
    var words = [status.rawValue, productId ?? "-"]
    func add(_ name: String, _ time: Int64?) {
      if let time { words.append("\(name)=\(TestDate.text(time))") }
    }
    add("exp", expiresAt)
    if let autoRenew { words.append("ar=\(autoRenew ? 1 : 0)") }
    if let pendingProductId { words.append("pend=\(pendingProductId)") }
    add("grace", gracePeriodExpiresAt)
    add("rev", revokedAt)
    if hasGap { words.append("gap") }
    return words.joined(separator: " ")
  }
}
