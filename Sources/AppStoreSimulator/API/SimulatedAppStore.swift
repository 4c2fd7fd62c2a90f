public import Clients
import Glibc
import HTTPServer
import Platform
public import StrictJSON

/// A local App Store Server API: both environments on base URLs of their own, over the customers of
/// a simulated authority, whose notifications it sends.
public final class SimulatedAppStore {
  public struct Options: Sendable {
    /// The folder of the authority and of the key for tokens; both are made if they are missing.
    var authority: String
    public var app = SimulatedApp()
    /// In Production; the sandbox has a tenth of them.
    public var customers = 100
    public var lifecycles: [Lifecycle] = []
    public var days: Int64 = 400
    public var seed: UInt64 = 1
    /// Of how many paid purchases the customer asks for the money back, 0 to 1; nil for few.
    public var refunds: Double?
    /// Milliseconds that the simulated clock begins behind the wall clock.
    public var behind: Int64 = 0
    /// How the attempts before the simulated clock's begin ended, Apple's sendAttemptResult.
    public var before = SendAttempt.success
    /// Where notifications are sent; nil if every attempt succeeds without being made.
    public var notify: ServiceURL?
    public var listenProduction = "127.0.0.1:0"
    public var listenSandbox = "127.0.0.1:0"
    var behaviour = Behaviour()

    public init(authority: String) { self.authority = authority }

    /// Takes over all members of a control document, or none.
    ///
    /// - Throws: `ControlError` that names the first member that is refused.
    public mutating func control(_ document: JSONElement) throws(ControlError) {
      _ = try behaviour.apply(document)
    }
  }

  private let production: HTTPServer
  private let sandbox: HTTPServer
  private let state: SharedState
  /// The line that a client needs to reach the service and to check its signatures.
  public let description: JSONValue

  /// Makes the customers, listens, and begins to send.
  ///
  /// - Parameter log: receives a line for each request, on any thread.
  /// - Throws: `SimulatorError` when the authority or its key cannot be used, when an address is
  ///   refused, or when the kernel refuses a thread.
  public init(
    _ options: Options, log: @escaping @Sendable (String) -> Void
  ) throws(SimulatorError) {
    let authority = try SimulatedAuthority.inFolder(options.authority)
    let key = try APIKey(in: options.authority)
    let end = Clock.now()
    state = try SharedState(
      AppStoreState(
        authority: authority, key: key,
        apps: Environment.allCases.map { Self.facts(options, $0, end) },
        behaviour: options.behaviour, behind: options.behind,
        hasNotificationURL: options.notify != nil),
      sendingTo: options.notify)
    do throws(HTTPServerError) {
      production = try Self.listen(options.listenProduction, .production, state, log)
      sandbox = try Self.listen(options.listenSandbox, .sandbox, state, log)
    } catch { throw .server(error) }
    description = .object([
      ("production", .string("http://127.0.0.1:\(production.port)")),
      ("sandbox", .string("http://127.0.0.1:\(sandbox.port)")),
      ("issuerId", .string(key.issuer)), ("keyId", .string(key.id)),
      ("keyFile", .string(Self.absolute(options.authority + "/api.key.pem"))),
      ("bundleId", .string(options.app.bundleId)),
      ("appAppleId", .integer(options.app.appAppleId)),
      ("root", .string(Self.absolute(options.authority + "/root.der"))),
    ])
  }

  /// The sandbox has a tenth of the customers, and other ones.
  private static func facts(
    _ options: Options, _ environment: Environment, _ end: Int64
  ) -> AppFacts {
    let isProduction = environment == .production
    var app = options.app
    app.environment = environment.name
    var fleet = Fleet(
      app: app, customers: isProduction ? options.customers : (options.customers + 9) / 10,
      days: options.days, end: end, seed: isProduction ? options.seed : ~options.seed)
    fleet.lifecycles = options.lifecycles
    fleet.refunds = options.refunds
    return AppFacts(fleet, start: end - options.behind, before: options.before)
  }

  private static func listen(
    _ address: String, _ environment: Environment, _ state: SharedState,
    _ log: @escaping @Sendable (String) -> Void
  ) throws(HTTPServerError) -> HTTPServer {
    var configuration = ServerConfiguration(listen: address)
    configuration.reactors = 1
    // An advance of the clock is answered when everything is sent.
    configuration.limits.answerSeconds = 3600
    return try HTTPServer.start(configuration) { AppStoreHandler(environment, state, log: log) }
  }

  private static func absolute(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }

  /// Moves the simulated clock, and waits until what is then due was sent.
  ///
  /// - Returns: how many notifications of both environments together have not reached the service.
  public func advance(_ milliseconds: Int64) -> Int64 {
    let done = WakeupEvent()
    if state.advance(milliseconds, done: { done.signal() }) { done.wait() }
    return Int64(state.withLock { $0.failures })
  }

  /// Ends both servers and the sending thread.
  public func stop() {
    state.stop()
    production.drain(within: 1)
    sandbox.drain(within: 1)
  }
}

/// One side of the service.
enum Environment: Int, Sendable, CaseIterable {
  case production, sandbox

  /// As payloads name it.
  var name: String { self == .production ? "Production" : "Sandbox" }
}
