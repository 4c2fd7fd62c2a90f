import Platform

/// How the descriptors of the process are divided: connections may not take the last ones, because
/// without one a reader cannot open its files and a command cannot reach the daemon.
extension ServerConfiguration {
  /// For all that is no connection and belongs to no reactor: the writer's files, builds of a
  /// projection, copies of the journal, listeners, the log.
  private static let reserved = 128
  /// For an epoll instance, an event, a reader's journal and projection with three files each,
  /// those of the projection before a change, and connections over the limit.
  private static let reservedForReactor = 32
  /// With fewer connections a start makes no sense.
  private static let fewestConnections = 32

  /// Raises the limit on open files as far as is needed and allowed.
  ///
  /// - Returns: the configuration with as many connections as the limit has space for.
  /// - Throws: `HTTPServerError.fewDescriptors` if that would be next to none.
  public func fittedToDescriptors() throws(HTTPServerError) -> ServerConfiguration {
    let reserve = Self.reserved + Self.reservedForReactor * reactorCount
    let wanted = limits.connections + reserve
    let least = min(limits.connections, Self.fewestConnections) + reserve
    let limit = Descriptors.allow(wanted)
    guard limit >= least else { throw .fewDescriptors(limit: limit, least: least, all: wanted) }
    var fitted = self
    fitted.limits.connections = min(limits.connections, limit - reserve)
    return fitted
  }

  /// The number of reactor threads. More of them than processors gain nothing: a reactor blocks
  /// only in epoll_wait.
  var reactorCount: Int { reactors > 0 ? reactors : ProcessLimits.processors }
}
