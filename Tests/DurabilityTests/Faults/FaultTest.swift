import AppStoreSimulator
import Foundation
import Ledger
import Store
import StrictJSON
import Support

/// Runs a daemon on a disk where one operation fails, or all from one on. Once the disk works
/// again, everything must recover without intervention.
struct FaultTest: Sendable {
  let imageCheck: ImageCheck
  /// The notifications of every run.
  let bodies: [(uuid: String, body: [UInt8])]
  /// How many of them are in the journal at the start.
  let known: Int
  let files: [String: Data]
  let authority: SimulatedAuthority

  /// Makes a journal with some events, as a crash leaves it.
  init(known: Int = 3, of count: Int = 8) throws {
    let disk = try InterceptedDisk()
    let bodies = try disk.sign(0..<count, customers: 3)
    try disk.prepare(Array(bodies[..<known]))
    self.bodies = disk.sent
    self.known = known
    files = try disk.installation.files()
    authority = disk.installation.authority
    let configuration = try Configuration.load(
      file: disk.installation.config.path, variables: [:], listen: nil, data: nil)
    let receiver = try Receiver(configuration)
    let received = try disk.sent.map {
      ($0.uuid, try receiver.receive(body: $0.body, at: Sample.start))
    }
    imageCheck = ImageCheck(
      configuration: configuration, received: Dictionary(uniqueKeysWithValues: received))
  }

  func disk() throws -> InterceptedDisk {
    try InterceptedDisk(authority, sent: bodies, files: files)
  }

  /// The events at the start: uuid by seq.
  var before: [Int64: String] {
    Dictionary(
      uniqueKeysWithValues: bodies[..<known].enumerated().map {
        (Int64($0.offset + 1), $0.element.uuid)
      })
  }

  /// - Returns: whether the fault occurred.
  func run(_ fault: InterceptedDisk.Fault) throws -> Bool {
    let disk = try disk()
    disk.intercept(tracing: false, fault)
    let command = try disk.installation.launch(
      ["serve", "--config", disk.installation.config.path])
    let end = Date(timeIntervalSinceNow: 60)
    var port: UInt16?
    while port == nil, command.isRunning, Date() < end {
      port = RunningDaemon.port(in: command.errorsSoFar())
      if port == nil { usleep(2_000) }
    }
    var accepted = before
    var refused = 0
    if let port {
      let client = Client(port: port)
      for item in bodies.dropFirst(known - 1) {
        guard let answer = client.post(item.body) else {
          refused += 1
          break
        }
        try check(answer, item.uuid, fault, &accepted, &refused)
      }
      let row = Client(port: port).get("/v1/entitlements/900")
      guard row == nil || row?.status == 200 || row?.status == 503 else {
        throw TestFailure("a read: \(row?.text ?? "")")
      }
    }
    command.signal(SIGTERM)
    let finished = try command.finish(within: 20)
    try check(finished, fault, started: port != nil, refused: refused)
    let fired = disk.hasFired
    disk.stopIntercepting()
    try imageCheck.run(DataFolder(path: disk.installation.data.path), answered: accepted)
    return fired
  }

  private func check(
    _ answer: Client.Answer, _ uuid: String, _ fault: InterceptedDisk.Fault,
    _ accepted: inout [Int64: String], _ refused: inout Int
  ) throws {
    if answer.status == 200, let seq = answer.json?["seq"]?.integer {
      guard accepted[seq] == nil || accepted[seq] == uuid else {
        throw TestFailure("seq \(seq) twice")
      }
      accepted[seq] = uuid
      return
    }
    // Without memory OpenSSL reports a failed verification without a reason.
    let isUnproven = answer.status == 401 && fault.kind == "crypto"
    guard answer.status == 503 && answer.field("Retry-After") != nil || isUnproven else {
      throw TestFailure("a fault of ours was answered with \(answer.status): \(answer.text)")
    }
    refused += 1
  }

  /// A daemon whose disk fails must exit with an error. It may only exit with 0 if everything was
  /// accepted, or the disk was full.
  private func check(
    _ finished: CommandResult, _ fault: InterceptedDisk.Fault, started: Bool, refused: Int
  ) throws {
    // Without memory some libraries, and Swift itself, abort the process, as a crash does.
    let mayCrash = ["crypto", "zstd"].contains(fault.kind)
    guard [0, 1, 2, 3].contains(finished.code) || mayCrash else {
      throw TestFailure("it crashed: \(finished)")
    }
    if !started && finished.code == 0 { throw TestFailure("no start, and no error: \(finished)") }
    if mayCrash { return }
    if fault.code == EIO, refused > 0, finished.code == 0 {
      throw TestFailure("\(refused) refused on a failing disk, and it exited with 0")
    }
    if refused > 0 || finished.code != 0, finished.errors.isEmpty {
      throw TestFailure("it failed without a message: \(finished)")
    }
  }
}
