/// How often each field was asked and avoidably wrong, by kind of delivery.
struct WrongAnswers {
  private struct Count {
    var asked = 0
    var wrong = 0
  }

  private var counts: [Delivery: [Knowable.Field: Count]] = [:]
  /// The first wrong answers, in words.
  private(set) var failures: [String] = []

  mutating func count(
    _ delivery: Delivery, _ field: Knowable.Field, isWrong: Bool, _ words: () -> String
  ) {
    counts[delivery, default: [:]][field, default: Count()].asked += 1
    guard isWrong else { return }
    counts[delivery, default: [:]][field, default: Count()].wrong += 1
    if failures.count < 10 { failures.append(words()) }
  }

  func asked(_ deliveries: [Delivery], _ field: Knowable.Field) -> Int {
    deliveries.map { counts[$0]?[field]?.asked ?? 0 }.reduce(0, +)
  }

  func wrong(_ deliveries: [Delivery], _ field: Knowable.Field) -> Int {
    deliveries.map { counts[$0]?[field]?.wrong ?? 0 }.reduce(0, +)
  }

  /// A line for each kind of delivery: avoidably wrong of those asked, for each field.
  var table: String {
    let fields = Knowable.Field.allCases
    let head = ["delivery"] + fields.map(\.rawValue)
    let lines = Delivery.allCases.map { delivery in
      [delivery.rawValue]
        + fields.map { "\(wrong([delivery], $0)) of \(asked([delivery], $0))" }
    }
    return ([head] + lines).map { cells in
      cells.map { $0 + String(repeating: " ", count: max(0, 18 - $0.count)) }.joined(separator: " ")
    }.joined(separator: "\n")
  }
}
