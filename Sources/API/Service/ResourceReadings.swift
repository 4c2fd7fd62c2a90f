public import Platform

/// What `ResourceSampler` found last.
public struct ResourceReadings: Sendable {
  /// Bytes; 0 if there is no such file.
  public var journalBytes: Int64 = 0
  public var walBytes: Int64 = 0
  /// Purchases that more than one account has.
  public var sharedPurchases: Int64 = 0
  /// Nil if the file system did not answer.
  public var disk: DiskSpace?

  public init() {}
}
