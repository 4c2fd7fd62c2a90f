import StrictJSON

/// The app that the notifications are about.
public struct SimulatedApp: Sendable, Equatable {
  public var bundleId: String
  public var appAppleId: Int64
  /// `Production` or `Sandbox`; the sandbox's payloads carry no appAppleId.
  public var environment: String
  var bundleVersion: String

  var isProduction: Bool { environment == "Production" }

  /// The members that identify the app in payloads and answers. In the sandbox there is no
  /// appAppleId (App Store Server Notifications, data).
  var members: [(String, JSONValue)] {
    (isProduction ? [("appAppleId", .integer(appAppleId))] : []) + [
      ("bundleId", .string(bundleId)), ("environment", .string(environment)),
    ]
  }

  public init(
    bundleId: String = "com.example.app", appAppleId: Int64 = 123_456_789,
    environment: String = "Production", bundleVersion: String = "42"
  ) {
    self.bundleId = bundleId
    self.appAppleId = appAppleId
    self.environment = environment
    self.bundleVersion = bundleVersion
  }
}
