public import AppStore

/// A field of something that is shown as JSON, as columns in SQL, and in a mirror: `RowField` of a
/// row, `TransactionField` of a purchase.
public struct Field<Subject: Sendable>: Sendable {
  public typealias Kind = FieldKind
  public typealias Place = FieldPlace
  public typealias Value = FieldValue

  /// The member of the JSON object, or `object.member`: that object is null if its first member is.
  public let name: String
  /// The column in SQL.
  public let column: String
  public let kind: Kind
  public let place: Place
  public let isOptional: Bool
  /// The first layout of a mirror's tables that has it.
  public let mirrorLayout: Int64
  /// One sentence.
  public let meaning: String
  public let value: @Sendable (Subject) -> Value

  /// - Parameter column: nil for that which follows from the name and the kind.
  init(
    _ name: String, _ kind: Kind, of place: Place = .span, column: String? = nil,
    isRequired: Bool = false, mirrorLayout: Int64 = 1, _ meaning: String,
    _ value: @escaping @Sendable (Subject) -> Value
  ) {
    self.name = name
    self.kind = kind
    self.place = place
    self.mirrorLayout = mirrorLayout
    self.meaning = meaning
    self.value = value
    isOptional = !isRequired
    let words = name.split(separator: ".").joined(separator: "_")
    if case .time = kind {
      self.column = column ?? words + "_ms"
    } else {
      self.column = column ?? words
    }
  }

  /// The same field of something else.
  init<Other>(_ field: Field<Other>, _ value: @escaping @Sendable (Subject) -> Value) {
    (name, column, kind, place) = (field.name, field.column, field.kind, field.place)
    (isOptional, mirrorLayout, meaning) = (field.isOptional, field.mirrorLayout, field.meaning)
    self.value = value
  }
}

public enum FieldKind: Sendable {
  case text, integer, flag, uuid
  /// Milliseconds since 1970.
  case time
  case oneOf([String])
  /// Texts; in SQL a JSON array, null if there is none.
  case texts
  /// What was given back; in SQL a JSON array, null if there is none.
  case refunds
}

/// What a field depends on.
public enum FieldPlace: Sendable {
  case key
  /// The same at every time.
  case row
  /// Another one for each time, or purchase.
  case span
}

public enum FieldValue: Sendable, Equatable {
  case none
  case text(String)
  case integer(Int64)
  case flag(Bool)
  case uuid(NotificationUUID)
  case texts([String])
  case refunds([Refund])
}

extension FieldValue {
  public var text: String? { if case .text(let text) = self { text } else { nil } }
  public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  public var refunds: [Refund] { if case .refunds(let refunds) = self { refunds } else { [] } }

  static func of(_ refunds: [Refund]) -> Self { refunds.isEmpty ? .none : .refunds(refunds) }
  public static func of(_ text: String?) -> Self { text.map { .text($0) } ?? .none }
  public static func of(_ number: Int64?) -> Self { number.map { .integer($0) } ?? .none }
  public static func of(_ flag: Bool?) -> Self { flag.map { .flag($0) } ?? .none }
}

extension Field {
  /// A member of the JSON object: one field, or an object of several.
  public struct Member: Sendable {
    public let name: String
    /// With the names that they have in the object.
    public fileprivate(set) var fields: [(name: String, field: Field)]
    public let isObject: Bool
  }

  /// The members of some fields, in their order.
  public static func members(of all: [Field]) -> [Member] {
    var members: [Member] = []
    for field in all {
      let names = field.name.split(separator: ".").map(String.init)
      if names.count > 1, members.last?.name == names[0] {
        members[members.count - 1].fields.append((names[1], field))
      } else {
        members.append(
          Member(
            name: names[0], fields: [(names[names.count - 1], field)], isObject: names.count > 1))
      }
    }
    return members
  }
}
