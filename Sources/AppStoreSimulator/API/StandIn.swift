import Glibc
import HTTPServer
import Platform
import StrictJSON

/// A local App Store Server API: both environments on base URLs of their own, over the customers of
/// a simulated authority.
final class StandIn {
  private let production: HTTPServer
  private let sandbox: HTTPServer
  private let sender: NotificationSender
  private let key: APIKey
  private let options: StandInOptions

  /// Makes the customers, listens, and begins to send.
  ///
  /// - Throws: `StandInError` when the authority or its key cannot be used, when an address is
  ///   refused, or when the kernel refuses a thread.
  init(
    _ options: StandInOptions, log: @escaping @Sendable (String) -> Void
  ) throws(StandInError) {
    self.options = options
    let authority: SimulatedAuthority
    do throws(SimulatorError) {
      authority = try Self.authority(options.authority)
      key = try APIKey(in: options.authority)
    } catch { throw .simulator(error) }
    let end = Clock.now()
    let store = StandInStore(
      StandInState(
        authority: authority, key: key, production: Self.facts(options, "Production", end),
        sandbox: Self.facts(options, "Sandbox", end), behaviour: options.behaviour,
        behind: options.behind, hasNotificationURL: options.notify != nil))
    do throws(LedgerError) {
      sender = try NotificationSender(store, options.notify)
    } catch { throw .platform(error) }
    do throws(HTTPServerError) {
      production = try Self.listen(options.listenProduction, .production, store, sender, log)
      sandbox = try Self.listen(options.listenSandbox, .sandbox, store, sender, log)
    } catch { throw .server(error) }
  }

  private static func authority(_ folder: String) throws(SimulatorError) -> SimulatedAuthority {
    access(folder + "/leaf.key.pem", F_OK) == 0
      ? try .load(from: folder) : try .create(at: folder)
  }

  /// The sandbox has a tenth of the customers, and other ones.
  private static func facts(
    _ options: StandInOptions, _ environment: String, _ end: Int64
  ) -> AppFacts {
    let isProduction = environment == "Production"
    var app = options.app
    app.environment = environment
    let customers = options.customers
    let households = Households(
      app: app, customers: isProduction ? customers : (customers + 9) / 10,
      lifecycles: options.lifecycles, days: options.days, end: end,
      seed: isProduction ? options.seed : ~options.seed)
    return AppFacts(households, start: end - options.behind, before: options.before)
  }

  private static func listen(
    _ address: String, _ environment: Environment, _ store: StandInStore,
    _ sender: NotificationSender, _ log: @escaping @Sendable (String) -> Void
  ) throws(HTTPServerError) -> HTTPServer {
    var configuration = ServerConfiguration(listen: address)
    configuration.reactors = 1
    // An advance of the clock is answered when everything is sent.
    configuration.limits.answerSeconds = 3600
    return try HTTPServer.start(configuration) {
      StandInHandler(environment, store, sender, log: log)
    }
  }

  /// The line that a client needs to reach the service and to check its signatures.
  var description: JSONValue {
    .object([
      ("production", .string("http://127.0.0.1:\(production.port)")),
      ("sandbox", .string("http://127.0.0.1:\(sandbox.port)")),
      ("issuerId", .string(key.issuer)), ("keyId", .string(key.id)),
      ("keyFile", .string(Self.absolute(options.authority + "/api.key.pem"))),
      ("bundleId", .string(options.app.bundleId)),
      ("appAppleId", .integer(options.app.appAppleId)),
      ("root", .string(Self.absolute(options.authority + "/root.der"))),
    ])
  }

  private static func absolute(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }

  /// Ends both servers and the sending thread.
  func stop() {
    sender.stop()
    production.drain(within: 1)
    sandbox.drain(within: 1)
  }
}

/// Why the service did not start.
enum StandInError: Error, CustomStringConvertible {
  case simulator(SimulatorError)
  case server(HTTPServerError)
  case platform(LedgerError)

  var description: String {
    switch self {
    case .simulator(let error): error.description
    case .server(let error): error.description
    case .platform(let error): error.detail
    }
  }
}
