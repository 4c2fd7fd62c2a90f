import Encoding
package import StrictJSON

/// One line of the log, before it is text.
package struct LogLine: Sendable {
  let time: Int64
  let level: Log.Level
  let event: String
  private let fields: [(String, JSONValue)]

  /// Bytes of a line, its end included. Lines of several processes do not mix up to PIPE_BUF, which
  /// is more (pipe(7)).
  package static let maximum = 2048

  /// - Parameter fields: long text is cut at once, so that lines that wait hold little.
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
      // One more than is shown, so that the cut shows too.
      .string(String(text.unicodeScalars.prefix(Log.maximumValue + 1)))
    case .array(let values): .array(values.map(cut))
    default: value
    }
  }

  /// A JSON object, and the line's end. A member that would make it too long is left out, and
  /// `cut` says so.
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

  /// For people: no quotes where none are needed.
  package var plain: [UInt8] {
    var text = "\(Timestamp.text(time)) \(level.rawValue.padding(7)) \(event)"
    for (name, value) in fields {
      var shown = Self.shown(value).text
      if case .string(let raw) = Self.shown(value), Self.isWord(raw) { shown = raw }
      let word = " \(name)=\(shown)"
      if text.utf8.count + word.utf8.count < Self.maximum { text += word }
    }
    return Array((text + "\n").utf8)
  }

  private static func isWord(_ text: String) -> Bool {
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
