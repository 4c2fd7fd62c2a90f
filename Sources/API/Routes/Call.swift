import HTTPServer
import Ledger

/// A request as the function of its route gets it.
struct Call: Sendable {
  private let admitted: AdmittedRequest
  let request: HTTPRequest
  /// Without parameters where the route does not check it.
  let query: QueryString
  let sender: ResponseSender

  /// - Throws: `ParameterFault` for the first parameter that is not valid.
  init(
    _ request: HTTPRequest, _ admitted: AdmittedRequest, _ sender: ResponseSender
  ) throws(ParameterFault) {
    let route = admitted.match.route
    query = try QueryString(route.checksQuery ? request.query : nil, of: route)
    (self.admitted, self.request, self.sender) = (admitted, request, sender)
  }

  var route: Route { admitted.match.route }
  var token: Configuration.ReadToken { admitted.token }
  /// The identifiers in the path; none of them is empty.
  var ids: [String] { admitted.match.ids }
  /// The first of them; empty if the route has none.
  var id: String { ids.first ?? "" }

  /// The parameter `limit`, or its default.
  var limit: Int { Int(query.integer("limit", of: route)) }
}
