import AppStoreSimulator
import Foundation
import Store
import StrictJSON
import Support

/// An installation whose programs' file operations are intercepted: recorded, or made to fail. See
/// `Tests/Support/RecordedDisk`.
final class InterceptedDisk {
  /// The operation that fails, alone or with all later ones of its kind.
  struct Fault: Sendable, CustomStringConvertible {
    var kind: String
    var number: Int
    var code: Int32 = EIO
    var stays = false
    /// Only operations count whose path ends with this.
    var ending = ""

    var description: String { "\(kind):\(number):\(code):\(stays ? "on" : "once"):\(ending)" }
  }

  let installation: Installation
  /// The notifications that were signed, in order.
  private(set) var sent: [(uuid: String, body: [UInt8])] = []
  /// How many bytes of the trace describe the initial files; the power is not cut there.
  private(set) var described = 0

  static let library: URL = RunningCommand.built.appending(path: "libRecordedDisk.so")

  /// - Parameters:
  ///   - authority: another installation's, because making one takes a while; nil for a new one.
  ///   - sent: what that authority signed.
  ///   - files: the initial files of the data folder.
  init(
    _ authority: SimulatedAuthority? = nil, sent: [(uuid: String, body: [UInt8])] = [],
    files: [String: Data] = [:]
  ) throws {
    installation = try Installation(authority: authority, files: files)
    self.sent = sent
    try Data(count: 8).write(to: clock.file)
  }

  var trace: URL { installation.folder.appending(path: "trace") }
  /// While this file exists, the disk is full for the files whose path contains its text.
  var full: URL { installation.folder.appending(path: "full") }
  /// While this file exists, no sync returns.
  var stuck: URL { installation.folder.appending(path: "stuck") }
  private var fired: URL { installation.folder.appending(path: "fired") }
  private var count: URL { installation.folder.appending(path: "count") }

  /// Intercepts the operations of programs that are launched from now on.
  func intercept(tracing: Bool = true, _ fault: Fault? = nil) {
    let variables: [String: String?] = [
      "LD_PRELOAD": Self.library.path, "RECORDED_DISK_FOLDER": installation.data.path,
      "RECORDED_DISK_FULL": full.path, "RECORDED_DISK_STUCK": stuck.path,
      "RECORDED_DISK_CLOCK": clock.file.path,
      "RECORDED_DISK_FIRED": fired.path, "RECORDED_DISK_COUNT": count.path,
      "RECORDED_DISK_TRACE": tracing ? trace.path : nil,
      "RECORDED_DISK_FAULT": fault?.description,
    ]
    installation.environment = variables.compactMapValues { $0 }
    try? FileManager.default.removeItem(at: fired)
  }

  /// Leaves programs alone that are launched from now on.
  func stopIntercepting() { installation.environment = [:] }

  /// Whether the fault has occurred.
  var hasFired: Bool { FileManager.default.fileExists(atPath: fired.path) }

  /// How many operations of the fault's kind the last program executed.
  var counted: Int {
    let text = try? String(contentsOf: count, encoding: .utf8)
    return text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
  }

  /// The wall clock of the programs.
  var clock: AdjustableClock { AdjustableClock(file: installation.folder.appending(path: "clock")) }

  /// The current length of the trace in bytes.
  var mark: Int {
    let size = try? FileManager.default.attributesOfItem(atPath: trace.path)[.size]
    return size as? Int ?? 0
  }

  /// Writes the existing files to the trace as made and synced, so that the trace is complete.
  func describe() throws {
    let manager = FileManager.default
    var records = Self.record("M", path: installation.data.path)
    for name in try manager.contentsOfDirectory(atPath: installation.data.path).sorted() {
      let file = installation.data.appending(path: name)
      if let target = installation.linked(name) {
        records += Self.record("Y", path: file.path, other: target)
        continue
      }
      let attributes = try manager.attributesOfItem(atPath: file.path)
      guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
      guard !name.hasSuffix("-shm") else { continue }
      let inode = attributes[.systemFileNumber] as? UInt64 ?? 0
      records += Self.record("C", inode, path: file.path)
      records += Self.record("W", inode, content: try Data(wholeOf: file))
      records += Self.record("S", inode, path: file.path)
    }
    records += Self.record("D", path: installation.data.path)
    records += Self.record("D", path: installation.folder.path)
    try records.write(to: trace)
    described = mark
  }

  private static func record(
    _ kind: Unicode.Scalar, _ inode: UInt64 = 0, path: String = "", other: String = "",
    content: Data = Data()
  ) -> Data {
    var record = Data([UInt8(ascii: kind)])
    withUnsafeBytes(of: inode.littleEndian) { record.append(contentsOf: $0) }
    withUnsafeBytes(of: Int64(0)) { record.append(contentsOf: $0) }
    for length in [path.utf8.count, other.utf8.count, content.count] {
      withUnsafeBytes(of: UInt32(length).littleEndian) { record.append(contentsOf: $0) }
    }
    return record + Data(path.utf8) + Data(other.utf8) + content
  }

  // MARK: Notifications

  /// Signs notifications of this many customers in turn. A number always gives the same
  /// notification.
  func sign(_ numbers: Range<Int>, customers: Int = 5, padding: Int = 0) throws -> [[UInt8]] {
    try numbers.map { number in
      var notification = Sample.notification(number, otid: "90\(number % customers)")
      if padding > 0 {
        var chance = SplitMix64(seed: UInt64(number))
        let noise = (0..<padding).map { _ in
          UInt8(ascii: "A") + UInt8.random(in: 0..<26, using: &chance)
            + (chance.hits(50) ? 32 : 0)
        }
        notification = notification.setting(
          "data.padding", .string(String(decoding: noise, as: UTF8.self)))
      }
      let body = try installation.sign(notification)
      sent.append((Sample.uuid(number), body))
      return body
    }
  }

  /// Posts notifications one after the other, and returns the seqs that were answered.
  @discardableResult
  func post(_ bodies: [[UInt8]], to daemon: RunningDaemon) throws -> [Int64] {
    let client = daemon.client()
    return try bodies.map { body in
      let answer = client.post(body)
      guard answer?.status == 200, let seq = answer?.json?["seq"]?.integer else {
        throw TestFailure("not accepted: \(answer?.text ?? "no answer")\n\(daemon.log)")
      }
      return seq
    }
  }

  // MARK: Results of commands

  /// A path for a command's result that is intercepted too.
  func beside(_ name: String) -> String { installation.data.path + "-" + name }
}
