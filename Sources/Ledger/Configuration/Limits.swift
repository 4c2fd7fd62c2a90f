extension Configuration {
  /// Limits on what one client, or all clients together, can use.
  public struct Limits: Sendable, Equatable {
    /// Bytes of a notification's body at most.
    public var bodyBytes = 262_144
    /// Open connections at most.
    public var connections = 4096
    /// Open connections from one address at most.
    public var connectionsPerAddress = 256
    /// Seconds in which a whole header must arrive.
    public var headerSeconds = 5
    /// Seconds in which a whole body must arrive.
    public var bodySeconds = 15
    /// Seconds that a connection may be idle between two requests.
    public var idleSeconds = 60
    /// With fewer free bytes on the data folder's disk, `/readyz` answers that the daemon is not
    /// ready.
    public var diskBytes = 67_108_864
  }
}
