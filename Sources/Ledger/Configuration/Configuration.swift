public import AppStore
public import Entitlements
public import Platform
public import SignedData
import StrictJSON

/// The settings of the process, combined from the configuration file, variables and flags.
public struct Configuration: Sendable {
  /// `HOST:PORT` that the daemon listens on.
  public var listen = "127.0.0.1:8080"
  /// The data folder.
  public var data = "/var/lib/subledger"
  /// The apps whose notifications are admitted, by bundle id.
  public var apps: [String: App] = [:]
  public var trustRoots: TrustRoots
  /// How many roots are configured in addition to Apple's.
  public var extraRoots = 0
  /// Addresses whose `X-Forwarded-For` is believed.
  public var trustedProxies = ["127.0.0.1", "::1"]
  public var readTokens: [ReadToken] = []
  public var limits = Limits()
  /// How long products of type Non-Renewing Subscription last, of all apps. `entitlements` has them
  /// by app, as they are put in force.
  public var nonRenewingDurations: [String: ProductDuration] = [:]
  /// The same as they count for an app of which none was put in force yet.
  public var durations: Durations { Durations(nonRenewingDurations) }
  /// The entitlements by name, and which products give them.
  public var entitlements = EntitlementCatalog()
  /// Per cent of those who have an entitlement that a change of `entitlements` may take it from
  /// without an operator's word, by environment; in one that has none, all.
  public var entitlementLossLimits: [Environment: Int64] = [.production: 5]
  /// Where Apple is asked about receipts.
  public var verifyReceipt: ReceiptService
  /// Where changes are sent.
  public var sinks: [Sink] = []
  public var mirrors: [Mirror] = []
  /// The names of both.
  public var sinkNames: [String] { sinks.map(\.name) + mirrors.map(\.name) }
  /// Nil if the data folder is a journal of its own.
  public var sharedJournal: SharedJournal?
  /// Nil if the daemon writes no anchors.
  public var anchors: Anchors?
  /// Who decides what Apple is told of requests for refunds; nil: Apple is told nothing.
  public var refundPolicies: [RefundPolicy]?
  /// The lowest level that is logged.
  public var logLevel = Log.Level.info

  /// The longest body that is read, in bytes. V1 bodies contain whole receipts, so the limit is at
  /// least 4 MiB if an app accepts V1.
  public var bodyLimit: Int {
    let acceptsV1 = apps.values.contains { !$0.v1SecretDigests.isEmpty }
    return acceptsV1 ? max(limits.bodyBytes, 4_194_304) : limits.bodyBytes
  }

  /// The defaults: no app, no token, and only Apple's root.
  ///
  /// - Throws: `LedgerError` if a library cannot read Apple's root or Apple's addresses.
  public init() throws(LedgerError) {
    guard let verifyReceipt = ReceiptService() else {
      throw .configuration("Apple's addresses are not usable", next: "report this")
    }
    self.verifyReceipt = verifyReceipt
    do throws(ProofFailure) {
      trustRoots = try TrustRoots()
    } catch {
      throw .configuration("Apple's root is not usable", next: "report this")
    }
  }

  /// The file that is read where none is named: the one that `init` writes.
  public static let usualFile = "/etc/subledger/config.json"

  /// The path of the file to read; nil if none is named and the usual one does not exist.
  ///
  /// - Parameters:
  ///   - named: the value of the flag; nil if it is not given.
  ///   - variables: of these `SUBLEDGER_CONFIG` is read.
  ///   - usual: the file that is read where none is named.
  public static func file(
    named: String?, variables: [String: String], usual: String = usualFile
  ) -> String? {
    if let named = named ?? variables["SUBLEDGER_CONFIG"] { return named }
    // One in a folder that this user may not enter is not absent: reading it says so.
    do { return try FileKind.of(usual) == nil ? nil : usual } catch { return usual }
  }

  /// Combines the settings. Flags win over `SUBLEDGER_*` variables, and those over the file.
  ///
  /// - Parameters:
  ///   - file: path of the configuration file; nil for none.
  ///   - variables: of these `SUBLEDGER_LISTEN`, `SUBLEDGER_DATA`, `SUBLEDGER_LOG_LEVEL` and
  ///     `CREDENTIALS_DIRECTORY` are read.
  ///   - listen, data, logLevel: the values of the flags; nil if a flag is not given.
  /// - Throws: `LedgerError` if the file or a file that it names cannot be read, or a key or
  ///   value is not valid.
  public static func load(
    file: String?, variables: [String: String], listen: String?, data: String?,
    logLevel: String? = nil
  ) throws(LedgerError) -> Configuration {
    var configuration = try Configuration()
    if let file {
      var reader = ConfigurationReader(
        file: file, credentials: variables["CREDENTIALS_DIRECTORY"])
      try reader.read(into: &configuration)
    }
    if let listen = listen ?? variables["SUBLEDGER_LISTEN"] { configuration.listen = listen }
    if let data = data ?? variables["SUBLEDGER_DATA"] { configuration.data = data }
    if case .file? = try? FileKind.of(configuration.data) {
      throw .configuration(
        "\(configuration.data) is a file, and data is a folder",
        next:
          "give the folder that has, or gets, the journal: --data DIR, SUBLEDGER_DATA, or \"data\""
          + " in the configuration")
    }
    if let name = logLevel ?? variables["SUBLEDGER_LOG_LEVEL"] {
      guard let level = Log.Level(rawValue: name) else {
        throw .configuration("the log level '\(name)' is unknown", next: Log.Level.choice)
      }
      configuration.logLevel = level
    }
    return configuration
  }
}
