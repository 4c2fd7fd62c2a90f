import AppStore

/// An id as a projection stores it: the number or the UUID that it is mostly the text of take half
/// of its space. Equal texts, and only they, are stored as equal values.
enum PackedId {
  /// A text of up to 18 digits without a leading zero.
  case number(Int64)
  /// A text in lower case.
  case uuid(NotificationUUID)
  case text(String)

  init(_ text: String) {
    if let number = Self.number(text) {
      self = .number(number)
    } else {
      var text = text
      self = text.withUTF8(NotificationUUID.init(lowercase:)).map(Self.uuid) ?? .text(text)
    }
  }

  /// Nil for any other text.
  fileprivate static func number(_ text: String) -> Int64? {
    let (digits, zero) = (text.utf8, UInt8(ascii: "0"))
    guard (1...18).contains(digits.count), digits.first != zero else { return nil }
    var number: Int64 = 0
    for digit in digits {
      guard (zero...zero + 9).contains(digit) else { return nil }
      number = number * 10 + Int64(digit - zero)
    }
    return number
  }
}

extension ColumnSink {
  /// Adds an id that views show: as a number, or as it is.
  mutating func add(id text: String) {
    if let number = PackedId.number(text) { add(number) } else { add(text) }
  }
}

extension Statement {
  /// Binds a `PackedId`.
  func bind(_ index: Int32, id text: String) -> Statement {
    switch PackedId(text) {
    case .number(let number): bind(index, number)
    case .uuid(let uuid): bind(index, uuid.bytes)
    case .text(let text): bind(index, text)
    }
  }

  /// The text of a `PackedId`.
  func id(_ column: Int32) -> String {
    NotificationUUID(bytes: isBlob(column) ? bytes(column) : [])?.description ?? text(column)
  }
}
