import Foundation
import Glibc
import StrictJSON
import Support

/// A headless Chromium with one page, controlled over `--remote-debugging-pipe`: JSON messages
/// that end with NUL, written to its descriptor 3 and read from its descriptor 4 (Chrome DevTools
/// Protocol, chromedevtools.github.io/devtools-protocol). `deinit` ends all of its processes.
final class Browser {
  /// The program, set by `make test-console`; nil: these tests are skipped.
  static let program = ProcessInfo.processInfo.environment["SUBLEDGER_BROWSER"]

  /// The folder for screenshots, set by `make screenshots`.
  static let screenshots = ProcessInfo.processInfo.environment["SUBLEDGER_SCREENSHOTS"]

  /// The file `axe.min.js` of axe-core, set by `make test-console`.
  static let axe = ProcessInfo.processInfo.environment["SUBLEDGER_AXE"]

  private let folder: URL
  private let process: pid_t
  private let writing: Int32
  private let reading: Int32
  /// Bytes of a message that is not complete yet.
  private var received: [UInt8] = []
  private var number = 0
  private var session: String?
  /// Exceptions in the page, and violations of its content security policy.
  private(set) var pageErrors: [String] = []
  /// What was asked for and refused, with its URL.
  private(set) var failedRequests: [String] = []

  /// Seconds that a command or a condition may take.
  private static let timeout = 30.0

  init(width: Int = 1280, height: Int = 900, isDark: Bool = false) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (toBrowser, fromBrowser) = (try Self.pipe(), try Self.pipe())
    (writing, reading) = (toBrowser.writing, fromBrowser.reading)
    process = try Self.spawn(folder, reading: toBrowser.reading, writing: fromBrowser.writing)
    close(toBrowser.reading)
    close(fromBrowser.writing)
    let target = try call("Target.createTarget", [("url", .string("about:blank"))])["targetId"]
    session =
      try call(
        "Target.attachToTarget",
        [("targetId", .string(target as? String ?? "")), ("flatten", .boolean(true))]
      )["sessionId"] as? String
    for domain in ["Page", "Runtime", "Log"] { try call("\(domain).enable") }
    try call(
      "Emulation.setDeviceMetricsOverride",
      [
        ("width", .integer(Int64(width))), ("height", .integer(Int64(height))),
        ("deviceScaleFactor", .integer(1)), ("mobile", .boolean(width < 500)),
      ])
    let scheme = JSONValue.object([
      ("name", .string("prefers-color-scheme")), ("value", .string(isDark ? "dark" : "light")),
    ])
    try call("Emulation.setEmulatedMedia", [("features", .array([scheme]))])
  }

  deinit {
    // The whole process group: the browser has child processes.
    kill(-process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    close(writing)
    close(reading)
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: The process

  /// Moves both ends to high descriptors, so that 3 and 4 are free in the child.
  private static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { throw TestFailure("no pipe") }
    let moved = ends.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
    ends.forEach { close($0) }
    return (moved[0], moved[1])
  }

  private static func spawn(_ folder: URL, reading: Int32, writing: Int32) throws -> pid_t {
    guard let program else { throw TestFailure("SUBLEDGER_BROWSER names no browser") }
    var commandLine = [
      program, "--headless=new", "--remote-debugging-pipe", "--user-data-dir=\(folder.path)",
      "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
      "--disable-background-networking", "--force-color-profile=srgb",
    ]
    // Chromium refuses to use its sandbox as root.
    if getuid() == 0 { commandLine.append("--no-sandbox") }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, reading, 3)
    posix_spawn_file_actions_adddup2(&actions, writing, 4)
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var arguments = commandLine.map { strdup($0) } + [nil]
    let settings = ["PATH=/usr/bin:/bin", "HOME=\(folder.path)", "LANG=C.UTF-8"]
    var variables = settings.map { strdup($0) } + [nil]
    defer { (arguments + variables).forEach { free($0) } }
    var process = pid_t()
    let code = posix_spawnp(&process, program, &actions, &attributes, &arguments, &variables)
    guard code == 0 else { throw TestFailure("\(program): \(String(cString: strerror(code)))") }
    return process
  }

  // MARK: The protocol

  /// Sends a command and waits for its answer.
  @discardableResult
  func call(
    _ method: String, _ parameters: [(String, JSONValue)] = []
  ) throws -> [String: Any] {
    number += 1
    var members: [(String, JSONValue)] = [
      ("id", .integer(Int64(number))), ("method", .string(method)),
      ("params", .object(parameters)),
    ]
    if let session { members.append(("sessionId", .string(session))) }
    var rest = (JSONValue.object(members).bytes + [0])[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(writing, $0.baseAddress, $0.count) }
      guard count > 0 else { throw TestFailure("the browser is gone") }
      rest = rest.dropFirst(count)
    }
    let end = Date(timeIntervalSinceNow: Self.timeout)
    while true {
      let message = try next(until: end, method)
      guard message["id"] as? Int == number else {
        record(message)
        continue
      }
      if let error = message["error"] { throw TestFailure("\(method): \(error)") }
      return message["result"] as? [String: Any] ?? [:]
    }
  }

  private func next(until end: Date, _ method: String) throws -> [String: Any] {
    while true {
      if let end = received.firstIndex(of: 0) {
        let line = Data(received[..<end])
        received.removeFirst(end + 1)
        return try JSONSerialization.jsonObject(with: line) as? [String: Any] ?? [:]
      }
      var descriptor = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
      let left = end.timeIntervalSinceNow
      guard left > 0, poll(&descriptor, 1, Int32(left * 1000) + 1) > 0 else {
        throw TestFailure("\(method): no answer of the browser")
      }
      var buffer = [UInt8](repeating: 0, count: 1 << 20)
      let count = read(reading, &buffer, buffer.count)
      guard count > 0 else { throw TestFailure("the browser ended") }
      received += buffer[..<count]
    }
  }

  /// Records an error of the page, or a failed request: a page may ask for what does not exist.
  private func record(_ message: [String: Any]) {
    let parameters = message["params"] as? [String: Any]
    switch message["method"] as? String {
    case "Runtime.exceptionThrown": pageErrors.append("\(parameters ?? [:])")
    case "Log.entryAdded":
      let entry = parameters?["entry"] as? [String: Any]
      if entry?["source"] as? String == "network" {
        failedRequests.append("\(entry?["text"] ?? "") \(entry?["url"] ?? "")")
      } else {
        pageErrors.append("\(entry ?? [:])")
      }
    default: break
    }
  }

  // MARK: Reading and controlling the page

  /// The value of an expression; waits for a promise.
  @discardableResult
  func value(_ expression: String) throws -> Any? {
    let answer = try call(
      "Runtime.evaluate",
      [
        ("expression", .string(expression)), ("awaitPromise", .boolean(true)),
        ("returnByValue", .boolean(true)),
      ])
    if let details = answer["exceptionDetails"] { throw TestFailure("\(expression): \(details)") }
    return (answer["result"] as? [String: Any])?["value"]
  }

  func text(_ selector: String) throws -> String {
    try value("document.querySelector('\(selector)')?.textContent ?? ''") as? String ?? ""
  }

  func count(_ selector: String) throws -> Int {
    try value("document.querySelectorAll('\(selector)').length") as? Int ?? -1
  }

  func holds(_ expression: String) throws -> Bool { try value(expression) as? Bool ?? false }

  /// Waits until an expression is true.
  func wait(_ expression: String) throws {
    let end = Date(timeIntervalSinceNow: Self.timeout)
    while try !holds("Boolean(\(expression))") {
      guard Date() < end else {
        throw TestFailure("waited for \(expression) in: \(try text("body").prefix(1500))")
      }
      usleep(20_000)
    }
  }

  /// Waits until an element has this text: the parts of a page are asked for, and drawn, apart.
  func wait(for text: String, in selector: String) throws {
    try wait("document.querySelector('\(selector)')?.textContent === '\(text)'")
  }

  func open(_ address: String) throws {
    try call("Page.navigate", [("url", .string(address))])
    try wait("document.readyState === 'complete' && location.href !== 'about:blank'")
  }

  /// Clicks the middle of an element with the mouse.
  func click(_ selector: String) throws {
    // Where it is once it stays: what is drawn above it may still come, and it may be drawn anew.
    var (box, last): ([Double]?, [Double]?)
    for _ in 0..<100 {
      box =
        try value(
          """
          (() => {
            const it = document.querySelector('\(selector)');
            if (!it) return [];
            const stays = window.clicked === it;
            window.clicked = it;
            it.scrollIntoView({ block: 'center' });
            const box = it.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2, stays ? 1 : 0];
          })()
          """) as? [Double]
      if let box, box == last, box.last == 1 { break }
      last = box
      usleep(30_000)
    }
    guard let box, box.count == 3 else { throw TestFailure("there is no \(selector)") }
    for kind in ["mousePressed", "mouseReleased"] {
      try call(
        "Input.dispatchMouseEvent",
        [
          ("type", .string(kind)), ("x", .number("\(box[0])")), ("y", .number("\(box[1])")),
          ("button", .string("left")), ("clickCount", .integer(1)),
        ])
    }
  }

  /// Types into the focused element.
  func type(_ text: String) throws { try call("Input.insertText", [("text", .string(text))]) }

  /// Presses a key with a name, such as `Enter` or `ArrowLeft`.
  func press(_ key: String, code: Int64, text: String? = nil) throws {
    for kind in [text == nil ? "rawKeyDown" : "keyDown", "keyUp"] {
      var members: [(String, JSONValue)] = [
        ("type", .string(kind)), ("key", .string(key)), ("code", .string(key)),
        ("windowsVirtualKeyCode", .integer(code)),
      ]
      if let text, kind == "keyDown" { members.append(("text", .string(text))) }
      try call("Input.dispatchKeyEvent", members)
    }
  }

  func pressEnter() throws { try press("Enter", code: 13, text: "\r") }

  /// A screenshot of the page as PNG.
  ///
  /// - Parameter height: pixels from the top; nil: the whole page.
  func screenshot(height: Int? = nil) throws -> Data {
    let size = try value("[innerWidth, document.documentElement.scrollHeight]") as? [Int] ?? [0, 0]
    let clip = JSONValue.object([
      ("x", .integer(0)), ("y", .integer(0)), ("width", .integer(Int64(size[0]))),
      ("height", .integer(Int64(min(size[1], height ?? size[1])))), ("scale", .integer(1)),
    ])
    let answer = try call(
      "Page.captureScreenshot",
      [("format", .string("png")), ("captureBeyondViewport", .boolean(true)), ("clip", clip)])
    guard let data = (answer["data"] as? String).flatMap({ Data(base64Encoded: $0) }) else {
      throw TestFailure("no screenshot")
    }
    return data
  }
}
