/// The parameters of a query, percent-decoded, in their order.
struct QueryItems {
  let items: [(name: String, value: String)]

  init(_ query: String?) {
    items = (query ?? "").split(separator: "&").map { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (Self.decoded(parts[0]), parts.count == 2 ? Self.decoded(parts[1]) : "")
    }
  }

  func first(_ name: String) -> String? { items.first { $0.name == name }?.value }

  func all(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

  /// Percent-decodes a part; `+` is a space, as in forms.
  static func decoded(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
