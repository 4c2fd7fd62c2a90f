/// A view that `QueryReader` reads, with a description of each column.
public struct SQLView: Sendable {
  public struct Column: Sendable {
    public let name: String
    public let type: ColumnType
    /// One sentence.
    public let meaning: String

    init(_ name: String, _ type: ColumnType, _ meaning: String) {
      self.name = name
      self.type = type
      self.meaning = meaning
    }
  }

  /// The type of the values that are not null.
  public enum ColumnType: String, Sendable { case integer, text, blob }

  public let name: String
  /// What one row is, in one sentence.
  public let meaning: String
  public let columns: [Column]
  /// The name under which `QueryFiles` attaches the file of the view.
  let schema: String

  static let journalSchema = "journal"
  static let projectionSchema = "entitlements"
  static let customersSchema = "customers"
  /// What a connection makes for itself (sqlite.org/lang_createview.html).
  static let temporarySchema = "temp"

  /// All views, in the order in which they are described.
  public static let all = [
    journal, quarantine, entitlement, entitlementSpan, transaction, refund, refundRequest,
    customerEntitlement,
  ]

  /// A query for help texts.
  public static let exampleQuery = "SELECT status, count(*) FROM entitlement_v1 GROUP BY status"

  /// The same view of a projection of the past; nil if it is of now alone.
  var ofThePast: SQLView? {
    switch schema {
    case Self.projectionSchema: self
    case Self.journalSchema where name == Self.journal.name:
      SQLView(name: name, meaning: meaning, columns: columns, schema: Self.temporarySchema)
    default: nil
    }
  }

  /// The names of all views, for messages.
  static var nameList: String {
    let names = all.map(\.name)
    return names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
  }
}
