public import Observability
import Platform
public import SignedData
import StrictJSON

/// The process's settings: what the configuration file, variables and flags say together.
public struct Configuration: Sendable {
  /// One app whose notifications are admitted.
  public struct App: Sendable, Equatable {
    public var bundleId: String
    /// Apple's id of the app; Production notifications must carry it.
    public var appAppleId: Int64?
    public var environments: Set<String>
    /// SHA-256 of the secrets that V1 notifications carry, two during a rotation; none: no V1.
    public var v1SecretDigests: [[UInt8]] = []

    package init(
      bundleId: String, appAppleId: Int64? = nil, environments: Set<String>,
      v1SecretDigests: [[UInt8]] = []
    ) {
      self.bundleId = bundleId
      self.appAppleId = appAppleId
      self.environments = environments
      self.v1SecretDigests = v1SecretDigests
    }
  }

  /// Who may read, and what. Without lists: everything.
  public struct ReadToken: Sendable, Equatable {
    public var name: String
    /// SHA-256 of the token: the token itself is nowhere.
    public var sha256: [UInt8]
    public var bundleIds: Set<String>?
    public var environments: Set<String>?

    package init(
      name: String, sha256: [UInt8], bundleIds: Set<String>? = nil,
      environments: Set<String>? = nil
    ) {
      self.name = name
      self.sha256 = sha256
      self.bundleIds = bundleIds
      self.environments = environments
    }

    /// Whether rows of this app and environment are this token's to see.
    public func covers(environment: String, bundleId: String) -> Bool {
      bundleIds?.contains(bundleId) ?? true && environments?.contains(environment) ?? true
    }
  }

  /// Bounds on what one client, or all together, may take.
  public struct Limits: Sendable, Equatable {
    /// Bytes of a notification's body.
    public var bodyBytes = 262_144
    public var connections = 4096
    public var connectionsPerAddress = 256
    /// Seconds for a whole header, a whole body, and between requests.
    public var headerSeconds = 5
    public var bodySeconds = 15
    public var idleSeconds = 60
    /// With fewer bytes left on the data folder's disk the daemon says it is not ready.
    public var diskBytes = 67_108_864
  }

  /// Where the daemon appends anchors, and when: whenever the head moved by so many events, or
  /// moved at all and so many minutes passed.
  public struct Anchors: Sendable, Equatable {
    public var file: String
    public var events: Int64 = 1000
    public var minutes: Int64 = 60

    package init(file: String, events: Int64 = 1000, minutes: Int64 = 60) {
      (self.file, self.events, self.minutes) = (file, events, minutes)
    }
  }

  public var listen = "127.0.0.1:8080"
  public var data = "/var/lib/subledger"
  public var apps: [String: App] = [:]
  public var trustRoots: TrustRoots
  /// How many roots were configured beside Apple's.
  public var extraRoots = 0
  public var trustedProxies = ["127.0.0.1", "::1"]
  public var readTokens: [ReadToken] = []
  public var limits = Limits()
  /// Milliseconds that products of type Non-Renewing Subscription last.
  public var nonRenewingDurations: [String: Int64] = [:]
  /// Nil: the daemon writes none.
  public var anchors: Anchors?
  /// What the log leaves out is under it.
  public var logLevel = Log.Level.info

  /// V1 bodies carry whole receipts: 4 MiB where an app takes them.
  public var bodyLimit: Int {
    let takesV1 = apps.values.contains { !$0.v1SecretDigests.isEmpty }
    return takesV1 ? max(limits.bodyBytes, 4_194_304) : limits.bodyBytes
  }

  /// The defaults: no app, no token, Apple's root alone.
  public init() throws(ConfigurationError) {
    do throws(ProofFailure) {
      trustRoots = try TrustRoots()
    } catch {
      throw ConfigurationError("Apple's root is not usable", next: "report this")
    }
  }

  /// Flags win over `SUBLEDGER_*` variables, those over the file.
  ///
  /// - Parameters:
  ///   - file: path of the configuration file; nil for none.
  ///   - variables: `SUBLEDGER_LISTEN`, `SUBLEDGER_DATA`, `SUBLEDGER_LOG_LEVEL`,
  ///     `SUBLEDGER_CONFIG`, `CREDENTIALS_DIRECTORY`; others are not read.
  ///   - listen, data, logLevel: what the flags say.
  public static func load(
    file: String?, variables: [String: String], listen: String?, data: String?,
    logLevel: String? = nil
  ) throws(ConfigurationError) -> Configuration {
    var configuration = try Configuration()
    if let file = file ?? variables["SUBLEDGER_CONFIG"] {
      var reader = ConfigurationReader(
        file: file, credentials: variables["CREDENTIALS_DIRECTORY"])
      try reader.read(into: &configuration)
    }
    if let listen = listen ?? variables["SUBLEDGER_LISTEN"] { configuration.listen = listen }
    if let data = data ?? variables["SUBLEDGER_DATA"] { configuration.data = data }
    if let name = logLevel ?? variables["SUBLEDGER_LOG_LEVEL"] {
      guard let level = Log.Level(rawValue: name) else {
        throw ConfigurationError("the log level '\(name)' is unknown", next: Log.Level.choice)
      }
      configuration.logLevel = level
    }
    return configuration
  }
}

/// What is wrong with the configuration, and what to do about it.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
  public let problem: String
  public let next: String

  public init(_ problem: String, next: String) {
    self.problem = problem
    self.next = next
  }

  public var description: String { "\(problem); \(next)" }
}
