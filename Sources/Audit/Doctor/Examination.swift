public import Platform

/// One check of `doctor`.
public struct Examination: Sendable {
  /// A method of the doctor: what it throws is a finding.
  public typealias Body = @Sendable (Doctor) -> () throws(LedgerError) -> Void

  /// The subject of what it reports, for example `disk`.
  let topic: String
  /// Whether it reads the data folder alone, so that it is made where the configuration is refused.
  public let isOfFolder: Bool
  let body: Body

  public init(_ topic: String, isOfFolder: Bool = false, _ body: @escaping Body) {
    (self.topic, self.isOfFolder, self.body) = (topic, isOfFolder, body)
  }
}
