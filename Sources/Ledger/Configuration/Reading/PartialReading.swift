public import Platform
import StrictJSON

extension Configuration {
  /// What commands that only read need of a configuration. The raw value is the key.
  public enum Part: String, Sendable, CaseIterable {
    case data, trustRoots, nonRenewingDurations, anchors
  }

  /// What can be read of a configuration, also of one that is refused.
  public struct Readable: Sendable {
    /// The settings; of one that is refused, the parts that could be read and the defaults of all
    /// else.
    public let configuration: Configuration
    /// The parts that could not be read. They may be set: the default is not what was meant.
    public let missing: Set<Part>

    public init(_ configuration: Configuration, missing: Set<Part> = []) {
      (self.configuration, self.missing) = (configuration, missing)
    }
  }

  /// Reads what can be read of a configuration that `load` refuses.
  ///
  /// A part could be read if it is right. One that is absent counts as read if no key is unknown:
  /// an unknown one may be its name, misspelt.
  ///
  /// - Parameters:
  ///   - file: path of the configuration file; nil for none.
  ///   - variables: of these `SUBLEDGER_DATA` is read.
  ///   - data: the value of the flag; nil if it is not given.
  /// - Throws: `LedgerError` as `init`.
  public static func readable(
    file: String?, variables: [String: String], data: String?
  ) throws(LedgerError) -> Readable {
    var configuration = try Configuration()
    var missing: Set<Part> = []
    if let file {
      missing = ConfigurationReader(file: file).readParts(into: &configuration)
    }
    if let data = data ?? variables["SUBLEDGER_DATA"] {
      configuration.data = data
      missing.remove(.data)
    }
    return Readable(configuration, missing: missing)
  }
}

extension ConfigurationReader {
  /// Reads each part for itself, and leaves those that cannot be read as they are.
  ///
  /// - Returns: the parts that could not be read.
  fileprivate func readParts(
    into configuration: inout Configuration
  ) -> Set<Configuration.Part> {
    guard let root = try? document(), root.kind == .object else {
      return Set(Configuration.Part.allCases)
    }
    let isKnown = (try? requireKnownKeys(root, .file)) != nil
    var missing: Set<Configuration.Part> = []
    for part in Configuration.Part.allCases {
      var read = configuration
      let isRead = (try? self.read(part, root, into: &read)) != nil
      if isRead && (isKnown || root[part.rawValue] != nil) {
        configuration = read
      } else {
        missing.insert(part)
      }
    }
    return missing
  }

  private func read(
    _ part: Configuration.Part, _ root: JSONElement, into configuration: inout Configuration
  ) throws(LedgerError) {
    switch part {
    case .data: configuration.data = try text(root, part.rawValue) ?? configuration.data
    case .trustRoots: try roots(root, into: &configuration)
    case .anchors: try anchors(root, into: &configuration)
    case .nonRenewingDurations:
      // Each app may have some too.
      try requireKnownKeys(root, .file)
      for app in try list(root, "apps") {
        try requireKnownKeys(app, .app)
        try durations(app, for: nil, into: &configuration)
      }
      try durations(root, for: nil, into: &configuration)
    }
  }
}
