import AppStore
import StrictJSON

/// What is wrong with an answer of status 200. Names members, and holds nothing of the answer.
struct AnswerFault: Error {
  let what: String

  init(_ what: String) { self.what = what }
}

/// Reads the JSON object of an answer. A member that is `null` counts as absent.
struct AnswerReader {
  private let object: JSONElement

  init(_ response: ClientResponse) throws(AnswerFault) {
    let type = response.field("content-type")?.prefix { $0 != ";" && $0 != " " }
    guard type?.lowercased() == "application/json" else {
      throw AnswerFault("its content type is not application/json")
    }
    do throws(JSONError) {
      object = try JSONDocument(parsing: response.body).root
    } catch {
      throw AnswerFault("\(error.reason.rawValue) at byte \(error.offset)")
    }
    guard object.kind == .object else { throw AnswerFault("it is not an object") }
  }

  private init(_ object: JSONElement, _ name: String) throws(AnswerFault) {
    guard object.kind == .object else { throw AnswerFault("\(name) holds no object") }
    self.object = object
  }

  private func member(_ name: String) -> JSONElement? {
    object[name].flatMap { $0.kind == .null ? nil : $0 }
  }

  /// Requires a value of a member.
  private func required<Value>(_ value: Value?, _ name: String) throws(AnswerFault) -> Value {
    guard let value else { throw AnswerFault("\(name) is missing or of another type") }
    return value
  }

  func text(_ name: String) throws(AnswerFault) -> String {
    try required(member(name)?.string, name)
  }

  /// Nil if there is no such member.
  func optionalText(_ name: String) throws(AnswerFault) -> String? {
    guard let member = member(name) else { return nil }
    return try required(member.string, name)
  }

  func integer(_ name: String) throws(AnswerFault) -> Int64 {
    try required(member(name)?.integer, name)
  }

  func boolean(_ name: String) throws(AnswerFault) -> Bool {
    try required(member(name)?.boolean, name)
  }

  /// The strings of a list; empty if there is no such member.
  func texts(_ name: String) throws(AnswerFault) -> [String] {
    var texts: [String] = []
    for element in try elements(name) { texts.append(try required(element.string, name)) }
    return texts
  }

  /// Reads each object of a list; empty if there is no such member.
  func list<Value>(
    _ name: String, _ read: (AnswerReader) throws(AnswerFault) -> Value
  ) throws(AnswerFault) -> [Value] {
    var values: [Value] = []
    for element in try elements(name) { values.append(try read(try AnswerReader(element, name))) }
    return values
  }

  private func elements(_ name: String) throws(AnswerFault) -> [JSONElement] {
    guard let list = member(name) else { return [] }
    guard list.kind == .array else { throw AnswerFault("\(name) is not a list") }
    return list.elements
  }

  /// Requires that the answer is about an app and environment, where it says so: rows of one must
  /// never become those of another.
  func require(_ account: AppStoreAccount) throws(AnswerFault) {
    let (environment, bundleId) = (account.environment.rawValue, account.bundleId)
    guard try optionalText("environment") ?? environment == environment else {
      throw AnswerFault("it is of another environment")
    }
    guard try optionalText("bundleId") ?? bundleId == bundleId else {
      throw AnswerFault("it is of another app")
    }
  }
}
