import Ledger

/// What `LedgerHandler.admit` found in the head of a request. It comes back with the whole request,
/// so each request's route is matched once and its token is hashed once.
public struct AdmittedRequest: Sendable {
  let match: MatchedRoute
  /// The read token that the request carries; nil if it carries none and the route needs none.
  let token: Configuration.ReadToken?

  var route: Route { match.route }
  /// The first identifier in the path; empty if the route has none.
  var id: String { match.ids.first ?? "" }
}
