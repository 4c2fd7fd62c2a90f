import Platform
import StrictJSON

/// Fills the members of a payload from its JSON. A member of another kind counts as absent.
struct PayloadReader: PayloadVisitor {
  typealias Failure = PayloadFault

  private let object: JSONElement
  /// The values in the order in which they are visited; nil inside an object, whose members are
  /// looked up.
  private var values: [JSONElement?]?
  private var next = 0
  /// The members that are absent and that every usable payload has.
  private(set) var missing: [String] = []

  init(_ object: JSONElement, _ names: JSONNames) {
    self.object = object
    var values = [JSONElement?](repeating: nil, count: names.count)
    object.forEachMember(in: names) { values[$0] = $1 }
    self.values = values
  }

  private init(_ object: JSONElement) { (self.object, values) = (object, nil) }

  private mutating func element(_ name: String) -> JSONElement? {
    guard let values else { return object[name] }
    next += 1
    return values[next - 1]
  }

  private mutating func element(_ member: PayloadMember) -> JSONElement? {
    guard let object = member.object else { return element(member.name) }
    return element(object)?[member.name]
  }

  mutating func text(_ member: PayloadMember, _ value: inout String?) throws(PayloadFault) {
    let element = element(member)
    value =
      switch member.form {
      case .identifier: try element?.identifier()
      case .filled: element?.filledText
      default: element?.string
      }
    note(member, value == nil)
  }

  mutating func number(_ member: PayloadMember, _ value: inout Int64?) {
    let element = element(member)
    value =
      switch member.form {
      case .date: element?.date
      case .end: element.flatMap { $0.kind == .null ? nil : $0.date ?? .min }
      default: element?.integer
      }
    note(member, value == nil)
  }

  mutating func flag(_ member: PayloadMember, _ value: inout Bool?) {
    value = element(member)?.boolean
  }

  private mutating func note(_ member: PayloadMember, _ isAbsent: Bool) {
    if isAbsent, member.isRequired { missing.append(member.name) }
  }

  mutating func object<Object: Payload>(
    _ name: String, _ value: inout Object?
  ) throws(PayloadFault) {
    guard let element = element(name) else { return }
    var (found, reader) = (Object(), Self(element))
    try found.visit(&reader)
    value = reader.missing.isEmpty ? found : nil
  }

  mutating func objects<Object: Payload>(
    _ name: String, _ value: inout [Object]
  ) throws(PayloadFault) {
    for element in element(name)?.elements ?? [] {
      var (found, reader) = (Object(), Self(element))
      try found.visit(&reader)
      value.append(found)
    }
  }

  mutating func texts(_ name: String, _ value: inout [String]) {
    value = element(name)?.elements.compactMap(\.string) ?? []
  }
}

/// Collects the names of the members, in the order in which they are visited.
struct PayloadNames: PayloadVisitor {
  typealias Failure = Never

  private var texts: [String] = []

  static func of<Visited: Payload>(_ type: Visited.Type) -> [String] {
    var (payload, names) = (type.init(), Self())
    payload.visit(&names)
    return names.texts
  }

  private mutating func add(_ member: PayloadMember) { texts.append(member.object ?? member.name) }

  mutating func text(_ member: PayloadMember, _ value: inout String?) { add(member) }

  mutating func number(_ member: PayloadMember, _ value: inout Int64?) { add(member) }

  mutating func flag(_ member: PayloadMember, _ value: inout Bool?) { add(member) }

  mutating func object<Object: Payload>(_ name: String, _ value: inout Object?) {
    texts.append(name)
  }

  mutating func objects<Object: Payload>(_ name: String, _ value: inout [Object]) {
    texts.append(name)
  }

  mutating func texts(_ name: String, _ value: inout [String]) { texts.append(name) }
}

/// Collects the values of the members, to compare two payloads.
struct PayloadValues: PayloadVisitor {
  typealias Failure = Never

  private var numbers: [Int64?] = []
  private var texts: [String?] = []

  /// Whether both have the same bytes: `String` calls two encodings of one accented letter equal.
  func areSame(as other: Self) -> Bool {
    numbers == other.numbers && texts.elementsEqual(other.texts, by: ByteSearch.areEqual)
  }

  mutating func text(_ member: PayloadMember, _ value: inout String?) { texts.append(value) }

  mutating func number(_ member: PayloadMember, _ value: inout Int64?) { numbers.append(value) }

  mutating func flag(_ member: PayloadMember, _ value: inout Bool?) {
    numbers.append(value.map { $0 ? 1 : 0 })
  }

  mutating func object<Object: Payload>(_ name: String, _ value: inout Object?) {
    numbers.append(value == nil ? nil : 1)
    guard var object = value else { return }
    object.visit(&self)
  }

  mutating func objects<Object: Payload>(_ name: String, _ value: inout [Object]) {
    numbers.append(Int64(value.count))
    for var object in value { object.visit(&self) }
  }

  mutating func texts(_ name: String, _ value: inout [String]) {
    numbers.append(Int64(value.count))
    texts += value
  }
}
