import AppStore
public import Entitlements
import Platform
public import StrictJSON

/// The table `transaction_line`: a line for each purchase of a row, by the fields of
/// `TransactionField`.
enum LineTable {
  /// The definitions of its columns.
  static let definitions = TransactionField.stored.map { field in
    "\(field.column) \(field.kind.columnType.rawValue.uppercased()),"
  }.joined(separator: "\n  ")

  static let names = TransactionField.stored.map(\.column).joined(separator: ", ")

  /// Less work than `replace`, in which SQLite prepares for a conflict.
  static let insert = "INSERT OR IGNORE " + values
  static let replace = "REPLACE " + values

  private static let values = """
    INTO transaction_line (entitlement_id, app_id, checksum, \(names))
    VALUES (\((1...TransactionField.stored.count + 3).map { "?\($0)" }.joined(separator: ", ")))
    """

  static let select = """
    SELECT checksum, \(names) FROM transaction_line WHERE entitlement_id = ? AND app_id = ?
    ORDER BY purchased_at_ms, transaction_id
    """
}

/// The checksum of a line, and its places in the journal, which depend on the order of arrival.
struct LineSum: Sendable, Equatable {
  let transactionId: String
  /// Over all columns but the places.
  let content: Int64
  let firstSeq, lastSeq: Int64?

  init(_ line: TransactionLine) {
    var sum = Checksum()
    sum.add(line.key.originalTransactionId)
    var places: (Int64?, Int64?) = (nil, nil)
    for index in TransactionField.keyCount..<line.values.count {
      switch index {
      case Self.firstPlace: places.0 = line.values[index].integer
      case Self.lastPlace: places.1 = line.values[index].integer
      default: sum.add(line.values[index])
      }
    }
    content = sum.value
    transactionId = line.transactionId
    (firstSeq, lastSeq) = places
  }

  /// The column `checksum` as it is stored, with what it says of the places taken away.
  init(_ transactionId: String, stored: Int64, _ firstSeq: Int64?, _ lastSeq: Int64?) {
    self.transactionId = transactionId
    (self.firstSeq, self.lastSeq) = (firstSeq, lastSeq)
    content = stored &- Self.places(firstSeq, lastSeq)
  }

  /// The column `checksum`.
  var stored: Int64 { content &+ Self.places(firstSeq, lastSeq) }

  private static func places(_ firstSeq: Int64?, _ lastSeq: Int64?) -> Int64 {
    var sum = Checksum()
    sum.add(firstSeq)
    sum.add(lastSeq)
    return sum.value
  }

  private static let firstPlace = TransactionField.places["first_seq"]
  private static let lastPlace = TransactionField.places["last_seq"]
}

extension ColumnSink {
  mutating func add(_ value: FieldValue) {
    switch value {
    case .none: add(nil as Int64?)
    case .text(let text): add(text)
    case .integer(let number): add(number)
    case .flag(let flag): add(flag ? 1 : 0 as Int64)
    case .uuid(let uuid): add(uuid.description)
    case .texts(let texts): add(JSONValue.array(texts.map(JSONValue.string)).text)
    case .refunds(let refunds): add(JSONValue.array(refunds.map(\.json)).text)
    }
  }
}

extension RowReading {
  /// The checksums of a row's lines, which are not checked.
  func lineSums(of id: Int64) throws(LedgerError) -> [LineSum] {
    try connection.statement(
      """
      SELECT transaction_id, checksum, first_seq, last_seq FROM transaction_line
      WHERE entitlement_id = ?
      """
    ).bind(1, id).all {
      LineSum($0.text(0), stored: $0.int(1), $0.optionalInt(2), $0.optionalInt(3))
    }
  }

  /// Reads the lines of a row, and checks each.
  ///
  /// - Parameters:
  ///   - app: the row's, which is each line's too.
  ///   - count: how many there must be.
  func lines(
    of id: Int64, _ app: Int64, _ key: StreamKey, count: Int64
  ) throws(LedgerError) -> [TransactionLine] {
    let lines = try connection.statement(LineTable.select).bind(1, id).bind(2, app)
      .all { (row) throws(LedgerError) in
        let values = TransactionField.stored.enumerated().map { index, field in
          row.value(Int32(index + 1), field.kind)
        }
        let line = TransactionLine(key, stored: values)
        guard LineSum(line).stored == row.int(0) else { throw .corrupt("a line of a row") }
        return line
      }
    guard lines.count == count else { throw .corrupt("a line of a row is missing") }
    return lines
  }
}

extension Statement {
  func value(_ column: Int32, _ kind: FieldKind) -> FieldValue {
    switch kind {
    case .integer, .time: optionalInt(column).map { .integer($0) } ?? .none
    case .flag: optionalInt(column).map { .flag($0 != 0) } ?? .none
    case .text, .oneOf, .uuid: optionalText(column).map { .text($0) } ?? .none
    case .texts: optionalText(column).map { .texts(Self.texts($0)) } ?? .none
    case .refunds:
      optionalText(column).map { .refunds(Self.elements($0).compactMap(Refund.init)) } ?? .none
    }
  }

  /// A JSON array of texts; anything else has another checksum.
  static func texts(_ text: String) -> [String] { elements(text).compactMap(\.string) }

  private static func elements(_ text: String) -> [JSONElement] {
    (try? JSONDocument(parsing: Array(text.utf8)).root)?.elements ?? []
  }
}

extension Refund {
  /// As it is stored, and shown.
  public static let object = JSONObject<Refund>([
    JSONMember("kind", .oneOf(Kind.allCases.map(\.rawValue), "Given back, or charged again.")) {
      $0.kind.rawValue
    },
    JSONMember("at", .time("When.")) { $0.at },
    JSONMember("milliunits", .integer("How much; null if that is not known.")) { $0.milliunits },
    JSONMember("type", .text("Apple's revocationType, or refundType of an item.")) { $0.type },
    JSONMember(
      "percentage",
      .integer("The share of the price that was given back by then, in thousandths of a percent.")
    ) { $0.percentage },
  ])

  public var json: JSONValue { Self.object.json(self) }

  fileprivate init?(_ json: JSONElement) {
    guard let kind = json["kind"]?.string.flatMap(Kind.init), let at = json["at"]?.integer else {
      return nil
    }
    self.init(
      kind, at: at, milliunits: json["milliunits"]?.integer, type: json["type"]?.string,
      percentage: json["percentage"]?.integer)
  }
}
