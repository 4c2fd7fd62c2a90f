/// The route that a request matched, with the identifier in its path.
struct MatchedRoute {
  let route: Route
  /// The identifier in the path; empty if the path has none.
  let id: String

  private static let fixed = Dictionary(
    Route.table.filter { $0.template == nil }.map { ($0.path, $0) },
    uniquingKeysWith: { first, _ in first })
  private static let templates = Route.table.filter { $0.template != nil }

  /// Returns nil if no route matches. The path is matched as received, never decoded or normalised.
  init?(_ path: String) {
    if let route = Self.fixed[path] {
      (self.route, id) = (route, "")
      return
    }
    for route in Self.templates {
      guard let id = route.identifier(in: path) else { continue }
      (self.route, self.id) = (route, id)
      return
    }
    return nil
  }
}

extension Route {
  /// The identifier in a path that matches the template; nil for any other path.
  fileprivate func identifier(in path: String) -> String? {
    guard let template else { return nil }
    let (prefix, suffix) = (template.prefix.utf8, template.suffix.utf8)
    guard path.utf8.count > prefix.count + suffix.count, path.utf8.starts(with: prefix),
      path.utf8.suffix(suffix.count).elementsEqual(suffix)
    else { return nil }
    let text = path.utf8.dropFirst(prefix.count).dropLast(suffix.count)
    return Self.isIdentifier(text) ? String(Substring(text)) : nil
  }

  /// Apple's identifiers are digits. Other identifiers in a path must need no percent-encoding.
  static func isIdentifier(_ text: Substring.UTF8View) -> Bool {
    (1...128).contains(text.count)
      && text.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
