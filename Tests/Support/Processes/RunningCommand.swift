package import Foundation

/// A process of the built program. Its output goes to files, so that no pipe can fill up.
package final class RunningCommand {
  private let process: SpawnedProcess
  private let arguments: [String]
  private let output: URL
  /// The file with its standard error.
  package let errors: URL

  /// The program: the one that was built with the tests, unless SUBLEDGER_PROGRAM names another.
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

  /// The environment of every program: PATH, and the variables of sanitizers and mutants.
  package static let inheritedEnvironment: [String: String] = {
    let own = ProcessInfo.processInfo.environment.filter { variable in
      [
        "TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS", "SWIFT_BACKTRACE", "SUBLEDGER_MUTANT",
      ].contains(variable.key)
    }
    return own.merging(["PATH": "/usr/bin:/bin"]) { $1 }
  }()

  /// - Parameter environment: added to `inheritedEnvironment`, or replacing its values; an empty
  ///   value removes a variable.
  package init(
    _ arguments: [String], in folder: URL, program: URL = RunningCommand.program,
    environment: [String: String] = [:]
  ) throws {
    let name = UUID().uuidString
    output = folder.appending(path: "\(name).out")
    errors = folder.appending(path: "\(name).err")
    self.arguments = arguments
    process = try SpawnedProcess(
      program.path, arguments, in: folder.path,
      environment: environment.merging(Self.inheritedEnvironment) { one, _ in one }
        .filter { !$0.value.isEmpty },
      output: output.path, errors: errors.path)
  }

  deinit { signal(SIGKILL) }

  package var isRunning: Bool { process.isRunning }
  package var id: Int32 { process.id }

  /// What its open descriptors lead to, sorted: `socket:[12]`, `/path/of/a/file` …
  package var descriptors: [String] {
    let path = "/proc/\(id)/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "\(path)/\($0)")
    }.sorted()
  }

  /// Bytes of memory that it has had at most (VmHWM, proc(5)); 0 once it has ended.
  package var peakBytes: Int {
    let lines = Self.text(URL(filePath: "/proc/\(id)/status")).split(separator: "\n")
    let fields = lines.first { $0.hasPrefix("VmHWM:") }?.split(separator: " ")
    return (fields?.dropFirst().first.flatMap { Int($0) } ?? 0) << 10
  }

  package func signal(_ number: Int32) { process.signal(number) }

  package func outputSoFar() -> String { Self.text(output) }

  package func errorsSoFar() -> String { Self.text(errors) }

  /// The content of a file that is being written; empty if it does not exist yet.
  package static func text(_ file: URL) -> String {
    String(decoding: (try? Data(wholeOf: file)) ?? Data(), as: UTF8.self)
  }

  /// Waits until it exits. After the timeout it is killed, and this throws.
  @discardableResult
  package func finish(within seconds: Double = 60) throws -> CommandResult {
    try wait(seconds, "\(arguments) to end") { !self.process.isRunning }
    return CommandResult(code: process.code ?? -1, output: outputSoFar(), errors: errorsSoFar())
  }

  /// What every bound on a time is multiplied by, because a program with a sanitizer is slow.
  package static let timeoutFactor =
    ProcessInfo.processInfo.environment["SUBLEDGER_TIMEOUT_FACTOR"].flatMap(Double.init) ?? 1

  /// What every wait is multiplied by. It only notices what hangs: beside other work everything
  /// takes several times as long.
  package static let waitFactor = max(5, timeoutFactor)

  /// Polls until a condition holds. After the timeout the command is killed, and this throws.
  package func wait(_ seconds: Double, _ what: String, _ holds: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: seconds * Self.waitFactor)
    while try !holds() {
      guard Date() < end else {
        signal(SIGKILL)
        throw TestFailure("timed out waiting for \(what)\n\(outputSoFar())\n\(errorsSoFar())")
      }
      usleep(5_000)
    }
  }
}
