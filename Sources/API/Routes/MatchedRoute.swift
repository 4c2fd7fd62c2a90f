import Platform

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
    let segments = Self.segments(path)
    var found: RoutePath?
    // An identifier may be a word of another path, which then has another method.
    for path in RoutePath.all[segments.count] ?? [] where path.matches(segments) {
      if found == nil || path.methods.contains(method) { found = path }
      if path.methods.contains(method) { break }
    }
    guard let found else { return nil }
    let route = found.routes.first { $0.methods.contains(method) } ?? found.routes[0]
    var ids: [String] = []
    for (index, parameter) in zip(found.idIndices, route.pathParameters) {
      guard let id = parameter.id(segments[index]) else { return nil }
      ids.append(id)
    }
    self.route = route
    self.ids = ids
    methods = found.methods
  }

  fileprivate static func segments(_ path: String) -> [ArraySlice<UInt8>] {
    Array(path.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
  }
}

/// A path of the table with all its routes, prepared because every request is matched.
private struct RoutePath: Sendable {
  let routes: [Route]
  let methods: [String]
  /// Nil stands for an identifier.
  private let segments: [ArraySlice<UInt8>?]
  /// Where the path has identifiers.
  let idIndices: [Int]

  /// By the number of segments; those without identifiers first, so that they win.
  static let all: [Int: [RoutePath]] = {
    let paths = Dictionary(grouping: Route.table, by: \.path).values.map(RoutePath.init)
    return Dictionary(grouping: paths, by: \.segments.count).mapValues { paths in
      paths.sorted { $0.idIndices.count < $1.idIndices.count }
    }
  }()

  /// - Parameter routes: at least one; all of one path.
  private init(_ routes: [Route]) {
    self.routes = routes
    methods = routes.flatMap(\.methods)
    segments = MatchedRoute.segments(routes[0].path)
      .map { $0.first == UInt8(ascii: "{") ? nil : $0 }
    idIndices = segments.indices.filter { [segments] in segments[$0] == nil }
  }

  func matches(_ path: [ArraySlice<UInt8>]) -> Bool {
    zip(segments, path).allSatisfy { segment, text in
      segment.map { ByteSearch.areEqual($0, text) } ?? true
    }
  }
}

extension Route {
  /// Apple's identifiers are digits. Other identifiers in a path must need no percent-encoding.
  static func isIdentifier(_ text: some Collection<UInt8>) -> Bool {
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
