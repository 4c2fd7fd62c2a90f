import Ledger

/// What `LedgerHandler.admit` found in the head of a request. It comes back with the whole request,
/// so each request's route is matched once and its token is hashed once.
public struct AdmittedRequest: Sendable {
  let match: MatchedRoute
  /// The read token that the request carries: `nobody` if it carries none and the route needs none,
  /// `all` over the unix socket.
  let token: Configuration.ReadToken
}
