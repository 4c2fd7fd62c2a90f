/// The app that the notifications are about.
public struct SimulatedApp: Sendable, Equatable {
  public var bundleId: String
  public var appAppleId: Int64
  /// `Production` or `Sandbox`; the sandbox's payloads carry no appAppleId.
  public var environment: String
  public var bundleVersion: String

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
