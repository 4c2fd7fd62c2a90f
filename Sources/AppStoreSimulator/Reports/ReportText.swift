import Platform

/// Apple's reports as it writes them. A row is one entry of the books.
extension SalesBook {
  private static let financialColumns =
    "Transaction Date\tSettlement Date\tApple Identifier\tSKU\tTitle\tDeveloper Name\t"
    + "Product Type Identifier\tCountry of Sale\tQuantity\tPartner Share\tExtended Partner Share\t"
    + "Partner Share Currency\tCustomer Price\tCustomer Currency\tSale or Return\tPromo Code\t"
    + "Order Type\tRegion"
  private static let salesColumns =
    "Provider\tProvider Country\tSKU\tDeveloper\tTitle\tVersion\tProduct Type Identifier\tUnits\t"
    + "Developer Proceeds\tBegin Date\tEnd Date\tCustomer Currency\tCountry Code\t"
    + "Currency of Proceeds\tApple Identifier\tCustomer Price\tPromo Code\tParent Identifier\t"
    + "Subscription\tPeriod\tCategory\tCMB\tDevice\tSupported Platforms\tProceeds Reason\t"
    + "Preserved Pricing\tClient\tOrder Type"

  /// The detailed Financial report of what was settled on some days. Each fifth sale has one unit
  /// too many, and a row that corrects it.
  public func financial(_ days: ClosedRange<Int64>) -> String {
    var rows: [String] = []
    var sums: [String: (units: Int64, share: Int64)] = [:]
    for (index, entry) in entries.filter({ days.contains($0.settled) }).enumerated() {
      let units = entry.isReturn ? -entry.units : entry.units
      for units in index % 5 == 4 && !entry.isReturn ? [units + 1, -1] : [units] {
        rows.append(row(entry, units, Self.financialColumns))
        let place = "\(entry.country)\t\(entry.currency)"
        let sum = sums[place] ?? (0, 0)
        sums[place] = (sum.units + units, sum.share + share(entry) * units)
      }
    }
    let head = [
      "Vendor Name\tExample", "Start Date\t\(Self.date(days.lowerBound))",
      "End Date\t\(Self.date(days.upperBound))", Self.financialColumns,
    ]
    let totals = sums.sorted { $0.key < $1.key }.map {
      "\($0.key)\t\($0.value.units)\t\(Self.cents($0.value.share))"
    }
    let title = "Country Of Sale\tPartner Share Currency\tQuantity\tExtended Partner Share"
    return (head + rows + [title] + totals).map { $0 + "\n" }.joined()
  }

  /// The Summary Sales report of what happened on some days.
  public func sales(_ days: ClosedRange<Int64>) -> String {
    let rows = entries.filter { days.contains($0.day) }.map {
      row($0, $0.isReturn ? -$0.units : $0.units, Self.salesColumns)
    }
    return ([Self.salesColumns] + rows).map { $0 + "\n" }.joined()
  }

  private func row(_ entry: Entry, _ units: Int64, _ columns: String) -> String {
    let (day, share) = (Self.date(entry.day), share(entry))
    let values = [
      "Transaction Date": day, "Settlement Date": Self.date(entry.settled), "Begin Date": day,
      "End Date": day, "SKU": entry.product, "Title": "\"\(entry.product)\"",
      "Product Type Identifier": entry.type, "Country of Sale": entry.country,
      "Country Code": entry.country, "Quantity": "\(units)", "Units": "\(units)",
      "Partner Share": Self.cents(share), "Developer Proceeds": Self.cents(share),
      "Extended Partner Share": Self.cents(share * units), "Partner Share Currency": entry.currency,
      "Currency of Proceeds": entry.currency, "Customer Currency": entry.currency,
      "Customer Price": Self.cents(price(entry)), "Sale or Return": entry.isReturn ? "R" : "S",
    ]
    return columns.split(separator: "\t").map { values[String($0)] ?? " " }.joined(separator: "\t")
  }

  /// Of one unit, in cents.
  private func price(_ entry: Entry) -> Int64 { (entry.milliunits / entry.units + 5) / 10 }

  /// The partner's share of one unit, in cents: seven tenths.
  private func share(_ entry: Entry) -> Int64 { price(entry) * 7 / 10 }

  private static func date(_ day: Int64) -> String {
    String(Timestamp.text(day * CivilTime.day).prefix(10))
  }

  private static func cents(_ cents: Int64) -> String {
    "\(cents < 0 ? "-" : "")\(cents.magnitude / 100)."
      + String(cents.magnitude % 100 + 100).dropFirst()
  }
}
