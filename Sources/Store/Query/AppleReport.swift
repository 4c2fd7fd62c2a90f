public import Platform

/// One of Apple's reports: the detailed Financial report, or the Summary Sales report. Which it is,
/// its header says.
///
/// Text in UTF-8, separated by tabs, without quotes, plain or as a gzip file (App Store Connect,
/// Reporting: Financial report fields; Summary Sales report fields). What is not certain is
/// refused, never guessed. No error holds a value of the file.
public struct AppleReport {
  enum Kind: String, CaseIterable {
    case financial, sales

    /// The columns that are needed, in lower case.
    var columns: [String] {
      let own =
        self == .sales
        ? "begin date,end date,country code,units"
        : "transaction date,settlement date,country of sale,quantity,sale or return,"
          + "extended partner share,partner share currency"
      let both = ",sku,product type identifier,customer price,customer currency"
      return (own + both).split(separator: ",").map(String.init)
    }
  }

  /// In-app purchases that were sold or given back at one price.
  public struct Row {
    let kind: Kind
    /// In Pacific Time, counted from 1970-01-01.
    let days: ClosedRange<Int64>
    let product, country, currency: String
    let isReturn: Bool
    /// What the customer paid or got back for one, in milliunits; not negative.
    let price: Int64
    /// Negative where it takes off from other rows.
    let units: Int64
  }

  /// For messages.
  let path: String
  /// Nil before the header.
  private(set) var kind: Kind?
  /// The days that the file is about, each with the first one of those that its rows have together.
  /// Of a Financial report those in which it was settled.
  private(set) var days: [Int64: Int64] = [:]
  /// Units of apps, and what cost nothing: they are no rows.
  public private(set) var otherUnits: Int64 = 0
  private var line = 0
  private var names: [String] = []
  private var fields: [Substring] = []
  private var start, end: Int64?
  /// The last day of those that rows have together, by the first one.
  private var lasts: [Int64: Int64] = [:]
  /// Of a Financial report what its totals have to be, by country and currency: units, millionths
  /// of the share, and rows.
  private var sums: [String: (units: Int64, share: Int64, rows: UInt64)] = [:]
  private var isAtTotals = false

  /// The longest line, in bytes.
  private static let longestLine = 1 << 16
  private static let again = "download it again"

  /// Reads a file line by line.
  ///
  /// - Parameter path: `-` for standard input.
  /// - Throws: `LedgerError.findings` with the line where the file is none of the two, or is
  ///   damaged; `.unavailable` if there is no file; `.stopped` if it was cancelled; what `each`
  ///   throws.
  public init(
    _ path: String, _ cancellation: Cancellation, _ each: (Row) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    self.path = VisibleText.of(path)
    let reader = try mapError({ LedgerError.unavailable($0.detail) }) { () throws(LedgerError) in
      try LineReader(
        path: path, maximum: Self.longestLine, cancellation: cancellation, unpacker: Gzip.unpacker)
    }
    while let bytes = try mapError(refusal, try reader.next()) {
      line += 1
      guard bytes.count <= Self.longestLine else { throw refusal("the line is too long") }
      guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
        throw refusal("it is no UTF-8; give the file as Apple wrote it")
      }
      fields = text.split(separator: "\t", omittingEmptySubsequences: false).map(Self.trimmed)
      guard !fields.allSatisfy(\.isEmpty) else { continue }
      if kind == nil {
        try readHeader()
      } else if kind == .financial && fields[0].lowercased() == "country of sale" {
        (names, isAtTotals) = (fields.map { $0.lowercased() }, true)
      } else if fields.count != names.count {
        throw refusal("\(fields.count) columns, not \(names.count); \(Self.again)")
      } else if isAtTotals {
        try checkTotals()
      } else if let row = try readRow() {
        try each(row)
      }
    }
    guard !cancellation.isRequested else { throw .stopped }
    guard !days.isEmpty else { throw refusal("the file has no rows; \(Self.again)") }
    guard kind == .sales || isAtTotals && sums.isEmpty else {
      throw refusal("totals are missing at its end; \(Self.again)")
    }
  }

  private func refusal(_ text: String) -> LedgerError {
    .findings("\(path), line \(line): \(text)")
  }

  private func refusal(_ error: LedgerError) -> LedgerError {
    refusal("\(error.detail); \(Self.again)")
  }

  private static func trimmed(_ field: Substring) -> Substring {
    var field = field.drop { $0 == " " }
    while field.last == " " || field.last == "\r" { field.removeLast() }
    return field
  }

  private mutating func readHeader() throws(LedgerError) {
    names = fields.map { $0.lowercased() }
    if names.count > 1, names.dropFirst(2).allSatisfy(\.isEmpty) {
      if names[0] == "vendor name" { return }
      if names[0] == "start date" { return start = try day(fields[1]) }
      if names[0] == "end date" { return end = try day(fields[1]) }
    }
    kind = Kind.allCases.first { kind in
      kind.columns.allSatisfy { column in names.count { $0 == column } == 1 }
    }
    guard let kind else {
      throw refusal(
        "neither a detailed Financial report nor a Summary Sales report; the header has: "
          + fields.prefix(40).map(Self.name).joined(separator: ", "))
    }
    guard kind == .financial else { return }
    guard let start, let end else {
      throw refusal("Start Date and End Date are missing before the header; \(Self.again)")
    }
    for day in try range(start, end) { days[day] = day }
  }

  /// What may be the name of a column: anything else may be a value.
  private static func name(_ text: Substring) -> String {
    let isName = text.count <= 60 && text.allSatisfy { $0.isLetter || " /-.&()".contains($0) }
    return isName ? VisibleText.of(String(text)) : "…"
  }

  /// A file or a row is about a year and some days at most.
  private func range(_ first: Int64, _ last: Int64) throws(LedgerError) -> ClosedRange<Int64> {
    guard 0..<400 ~= last - first else { throw refusal("the end is not within 400 days") }
    return first...last
  }

  // MARK: Rows

  private mutating func readRow() throws(LedgerError) -> Row? {
    let isSales = kind == .sales
    let days = try isSales ? salesDays() : financialDays()
    let units = try number(isSales ? "units" : "quantity", decimals: 0)
    let price = abs(try number("customer price", decimals: 3))
    let country = String(self[isSales ? "country code" : "country of sale"])
    if !isSales {
      let share = try number("extended partner share", decimals: 6)
      let sum = sums[place] ?? (0, 0, 0)
      sums[place] = (sum.units &+ units, sum.share &+ share, sum.rows + 1)
    }
    guard !price.multipliedReportingOverflow(by: units).overflow else {
      throw refusal("the amount is too large")
    }
    guard self["product type identifier"].hasPrefix("IA"), price != 0, units != 0 else {
      otherUnits &+= units
      return nil
    }
    let isReturn = isSales ? units < 0 : self["sale or return"] == "R"
    return Row(
      kind: isSales ? .sales : .financial, days: days, product: String(self["sku"]),
      country: country, currency: String(self["customer currency"]), isReturn: isReturn,
      price: price, units: isReturn ? -units : units)
  }

  private mutating func salesDays() throws(LedgerError) -> ClosedRange<Int64> {
    let days = try range(try day(self["begin date"]), try day(self["end date"]))
    if lasts[days.lowerBound] == days.upperBound { return days }
    guard days.allSatisfy({ self.days[$0] == nil }) else {
      throw refusal("its days overlap with those of another row")
    }
    lasts[days.lowerBound] = days.upperBound
    for day in days { self.days[day] = days.lowerBound }
    return days
  }

  private func financialDays() throws(LedgerError) -> ClosedRange<Int64> {
    let date = try day(self["transaction date"])
    guard date <= end ?? date else {
      throw refusal("transaction date is after the End Date; with / the month comes first")
    }
    guard ["S", "R"].contains(self["sale or return"]) else {
      throw refusal("sale or return takes S or R")
    }
    return date...date
  }

  private subscript(_ column: String) -> Substring {
    names.firstIndex(of: column).map { fields[$0] } ?? ""
  }

  /// Amounts may differ by half a cent for each row, by which Apple may have rounded them.
  private mutating func checkTotals() throws(LedgerError) {
    let units = try number("quantity", decimals: 0)
    let share = try number("extended partner share", decimals: 6)
    guard let sum = sums.removeValue(forKey: place), units == sum.units,
      (share &- sum.share).magnitude <= sum.rows * 5_000
    else { throw refusal("the totals are not those of the rows; \(Self.again)") }
  }

  private var place: String { "\(self["country of sale"]) \(self["partner share currency"])" }

  // MARK: Values

  /// `2026-08-31` or `08/31/2026`.
  private func day(_ field: Substring) throws(LedgerError) -> Int64 {
    let parts = field.split(separator: "/", omittingEmptySubsequences: false)
    let text =
      parts.map(\.count) == [2, 2, 4] ? "\(parts[2])-\(parts[0])-\(parts[1])" : String(field)
    guard text.utf8.count == 10, text.contains("-"), let midnight = Timestamp.parse(text) else {
      throw refusal("a date is YYYY-MM-DD or MM/DD/YYYY, the month first")
    }
    return midnight / CivilTime.day
  }

  /// A decimal number as a multiple of its last decimal: with three, 9.99 is 9990. Refuses more
  /// decimals that say something, and more than 12 digits before.
  private func number(_ column: String, decimals: Int) throws(LedgerError) -> Int64 {
    let parts = self[column].split(separator: ".", omittingEmptySubsequences: false)
    let fraction = (parts.count == 2 ? parts[1] : "") + String(repeating: "0", count: decimals)
    guard 1...2 ~= parts.count, 1...12 ~= parts[0].utf8.count, parts[0].first != "+",
      fraction.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      fraction.utf8.dropFirst(decimals).allSatisfy({ $0 == 0x30 }),
      let number = Int64(parts[0] + fraction.prefix(decimals))
    else { throw refusal("\(column) takes a number with at most \(decimals) decimals") }
    return number
  }
}
