extension Configuration {
  /// The file that the daemon appends anchors to, and when: once the head moved by `events`, or
  /// moved at all and `minutes` passed.
  public struct Anchors: Sendable, Equatable {
    public var file: String
    public var events: Int64 = 1000
    public var minutes: Int64 = 60

    package init(file: String, events: Int64 = 1000, minutes: Int64 = 60) {
      (self.file, self.events, self.minutes) = (file, events, minutes)
    }
  }
}
