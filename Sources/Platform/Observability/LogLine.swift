package import StrictJSON

/// One line of the log, not yet formatted.
package struct LogLine: Sendable {
  let time: Int64
  let level: Log.Level
  let event: String
  private let fields: [(String, JSONValue)]

  /// The longest line in bytes, with its line feed. It is below PIPE_BUF (4,096 bytes), up to which
  /// a write to a pipe is atomic (pipe(7)): a line that is written alone does not mix with those of
  /// other processes.
  package static let maximum = 2048

  /// - Parameter fields: long text in them is cut at once, so that queued lines take little memory.
  package init(
    time: Int64, level: Log.Level, event: String, fields: [(String, JSONValue)]
  ) {
    (self.time, self.level, self.event) = (time, level, event)
    self.fields = fields.contains { Self.isLong($1) } ? fields.map { ($0, Self.cut($1)) } : fields
  }

  private static func isLong(_ value: JSONValue) -> Bool {
    switch value {
    case .string(let text): text.utf8.count > Log.maximumValue
    case .array(let values): values.contains(where: isLong)
    default: false
    }
  }

  private static func cut(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text) where isLong(value):
      // One more than is shown, so that the line shows that it was cut.
      .string(String(text.unicodeScalars.prefix(Log.maximumValue + 1)))
    case .array(let values): .array(values.map(cut))
    default: value
    }
  }

  /// The line as a JSON object with a line feed. Members that would make it longer than `maximum`
  /// are left out, and the member `cut` is true then.
  package var json: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(384)
    bytes += "{\"time\":\"".utf8
    bytes += Timestamp.text(time).utf8
    bytes += "\",\"level\":\"".utf8
    bytes += level.rawValue.utf8
    bytes += "\",\"event\":".utf8
    JSONValue.string(event).write(into: &bytes)
    var isCut = false
    for (name, value) in fields {
      let start = bytes.count
      bytes.append(UInt8(ascii: ","))
      JSONValue.string(name).write(into: &bytes)
      bytes.append(UInt8(ascii: ":"))
      Self.shown(value).write(into: &bytes)
      if bytes.count + Self.cutEnd.count > Self.maximum {
        bytes.removeLast(bytes.count - start)
        isCut = true
      }
    }
    bytes += isCut ? Self.cutEnd : Self.end
    return bytes
  }

  private static let end = Array("}\n".utf8)
  private static let cutEnd = Array(",\"cut\":true}\n".utf8)

  /// The line for a terminal: values have quotes only where they are needed.
  package var plain: [UInt8] {
    var text = "\(Timestamp.text(time)) \(level.rawValue.padding(7)) \(event)"
    for (name, value) in fields {
      var shown = Self.shown(value).text
      if case .string(let raw) = Self.shown(value), Self.needsNoQuotes(raw) { shown = raw }
      let field = " \(name)=\(shown)"
      if text.utf8.count + field.utf8.count < Self.maximum { text += field }
    }
    return Array((text + "\n").utf8)
  }

  private static func needsNoQuotes(_ text: String) -> Bool {
    !text.isEmpty && !text.contains { $0 == " " || $0 == "\"" || $0 == "=" || $0 == "\\" }
  }

  private static func shown(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(Log.escaped(text))
    case .array(let values): .array(values.map(shown))
    default: value
    }
  }
}

extension String {
  fileprivate func padding(_ width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }
}
