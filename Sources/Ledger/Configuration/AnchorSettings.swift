extension Configuration {
  /// A file that the daemon appends anchors to, and when: after every `events` events, and once the
  /// head moved at all and `minutes` passed.
  public struct Anchors: Sendable, Equatable {
    /// Links of other customers that a bundle then has at most for each event, some 60 KB.
    public static let usualEvents: Int64 = 256

    public var file: String
    public var events = usualEvents
    public var minutes: Int64 = 60

    package init(file: String, events: Int64 = usualEvents, minutes: Int64 = 60) {
      (self.file, self.events, self.minutes) = (file, events, minutes)
    }
  }
}
