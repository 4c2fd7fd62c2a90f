/// The route that a request matched, with the identifiers in its path.
struct MatchedRoute: Sendable {
  let route: Route
  /// The identifiers in the path, in its order, decoded.
  let ids: [String]
  /// The methods of all routes of the path.
  let methods: [String]

  /// Returns nil if no route has the path. It is matched as received, never normalised.
  ///
  /// - Parameter method: chooses among the routes of one path; the first of them if none has it.
  init?(_ path: String, _ method: String) {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    var found = (Self.routes[segments.count] ?? []).filter { $0.hasShape(of: segments) }
    let fixed = found.filter { !$0.segments.contains(nil) }
    if !fixed.isEmpty { found = fixed }
    guard let route = found.first(where: { $0.methods.contains(method) }) ?? found.first else {
      return nil
    }
    let texts = zip(route.segments, segments).filter { $0.0 == nil }.map(\.1)
    let kinds = route.parameters.filter(\.isInPath)
    var ids: [String] = []
    for (text, parameter) in zip(texts, kinds) {
      guard let id = parameter.id(text) else { return nil }
      ids.append(id)
    }
    self.route = route
    self.ids = ids
    methods = found.flatMap(\.methods)
  }

  /// By the number of segments.
  private static let routes = Dictionary(grouping: Route.table, by: \.segments.count)
}

extension Route {
  fileprivate func hasShape(of path: [Substring]) -> Bool {
    zip(segments, path).allSatisfy { segment, text in segment.map { $0 == text } ?? true }
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
