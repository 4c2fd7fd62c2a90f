package import Foundation
package import StrictJSON

/// How a command ended.
package struct Finished: CustomStringConvertible {
  package let code: Int32
  package let output: String
  package let errors: String

  package init(code: Int32, output: String, errors: String) {
    (self.code, self.output, self.errors) = (code, output, errors)
  }

  package var description: String { "exit \(code)\n\(output.suffix(2000))\n\(errors.suffix(2000))" }

  /// Standard output as JSON, an object a line.
  package func lines() throws -> [JSONElement] {
    try output.split(separator: "\n").map { try JSONDocument(parsing: Array($0.utf8)).root }
  }

  package var firstLine: String { output.split(separator: "\n").first.map(String.init) ?? "" }
}

/// The built program with some words, its output in files so that no pipe can fill up.
package final class RunningCommand {
  private let process: SpawnedProcess
  private let words: [String]
  private let output: URL
  /// Where standard error goes.
  package let errors: URL

  /// The program lies where the tests were built, unless SUBLEDGER_PROGRAM names another build.
  package static let program: URL = {
    if let path = ProcessInfo.processInfo.environment["SUBLEDGER_PROGRAM"] {
      return URL(filePath: path)
    }
    return built.appending(path: "subledger")
  }()

  /// The folder that the tests were built into.
  package static let built: URL = {
    let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") }
    let running = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    let folders = (bundles.map { URL(filePath: $0) } + [running]).map {
      $0.deletingLastPathComponent()
    }
    let found = folders.first {
      FileManager.default.isExecutableFile(atPath: $0.appending(path: "subledger").path)
    }
    return found ?? URL(filePath: ".build/debug")
  }()

  /// What every program of a trial gets: the path, and what a sanitizer or a mutant goes by.
  package static let passedOn: [String: String] = {
    let own = ProcessInfo.processInfo.environment.filter { variable in
      [
        "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS", "SWIFT_BACKTRACE", "SUBLEDGER_MUTANT",
      ].contains(variable.key)
    }
    return own.merging(["PATH": "/usr/bin:/bin"]) { $1 }
  }()

  /// - Parameter environment: beside what is passed on, or in its place; empty: without it.
  package init(
    _ words: [String], in folder: URL, program: URL = RunningCommand.program,
    environment: [String: String] = [:]
  ) throws {
    let name = UUID().uuidString
    output = folder.appending(path: "\(name).out")
    errors = folder.appending(path: "\(name).err")
    self.words = words
    process = try SpawnedProcess(
      program.path, words, in: folder.path,
      environment: environment.merging(Self.passedOn) { one, _ in one }
        .filter { !$0.value.isEmpty },
      output: output.path, errors: errors.path)
  }

  deinit { signal(SIGKILL) }

  package var isRunning: Bool { process.isRunning }
  package var id: Int32 { process.id }

  /// How many descriptors it has open.
  package var descriptors: Int {
    let path = "/proc/\(id)/fd"
    return (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
  }

  package func signal(_ number: Int32) { process.signal(number) }

  package func outputSoFar() -> String { Self.text(output) }

  package func errorsSoFar() -> String { Self.text(errors) }

  /// What a file that is being written holds by now, nothing where it is not there yet.
  package static func text(_ file: URL) -> String {
    String(decoding: (try? Data(wholeOf: file)) ?? Data(), as: UTF8.self)
  }

  /// Waits for its end; what takes longer is killed, and that is a failure.
  @discardableResult
  package func finish(within seconds: Double = 60) throws -> Finished {
    try wait(seconds, "\(words) to end") { !self.process.isRunning }
    return Finished(code: process.code ?? -1, output: outputSoFar(), errors: errorsSoFar())
  }

  /// How many times longer everything may take: a sanitizer's program is slow.
  package static let patience =
    ProcessInfo.processInfo.environment["SUBLEDGER_PATIENCE"].flatMap(Double.init) ?? 1

  /// Looks again and again until something holds.
  package func wait(_ seconds: Double, _ what: String, _ holds: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: seconds * Self.patience)
    while try !holds() {
      guard Date() < end else {
        signal(SIGKILL)
        throw Trouble("waited for \(what)\n\(outputSoFar())\n\(errorsSoFar())")
      }
      usleep(5_000)
    }
  }
}

/// `subledger serve`, listening.
package final class RunningDaemon {
  package let command: RunningCommand
  package let port: UInt16

  package convenience init(_ installation: Installation) throws {
    try self.init(
      try installation.launch(["serve", "--config", installation.config.path]))
  }

  package convenience init(program: URL, config: String, in folder: URL) throws {
    try self.init(
      try RunningCommand(["serve", "--config", config], in: folder, program: program))
  }

  private init(_ command: RunningCommand) throws {
    var found: UInt16?
    try command.wait(20, "the daemon to listen") {
      found = Self.port(in: command.errorsSoFar())
      guard found != nil || command.isRunning else {
        throw Trouble("the daemon ended: \(command.errorsSoFar())")
      }
      return found != nil
    }
    self.command = command
    port = found ?? 0
  }

  package static func port(in log: String) -> UInt16? {
    for line in log.split(separator: "\n") {
      guard let entry = try? JSONDocument(parsing: Array(line.utf8)).root,
        entry["event"]?.string == "listening"
      else { continue }
      return entry["port"]?.integer.map { UInt16($0) }
    }
    return nil
  }

  package var log: String { command.errorsSoFar() }

  package func client() -> Client { Client(port: port) }

  /// Asks it to end in good order.
  @discardableResult
  package func stop() throws -> Finished {
    command.signal(SIGTERM)
    return try command.finish(within: 20)
  }

  /// Ends it as a crash does.
  package func crash() throws {
    command.signal(SIGKILL)
    try command.finish(within: 10)
  }
}
