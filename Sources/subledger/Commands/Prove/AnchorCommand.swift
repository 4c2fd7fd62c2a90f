import Glibc
import JournalStore
import LedgerAudit
import Platform

enum AnchorCommand {
  static let flags: [Command.Flag] = [
    .init("--append", "FILE", "also append the line to FILE, and sync it"),
    .init("--public-key", "print the public key in PEM instead; made where there is none"),
    .init("--json", "changes nothing: an anchor is JSON"),
  ]

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    try words.none()
    let folder = words.folder(try words.configuration())
    if words.has("--public-key") {
      guard words["--append"] == nil else {
        throw .usage("--public-key and --append are two things; one at a time")
      }
      // The key may be wanted before the first start.
      try CommandError.store { () throws(StoreError) in try folder.create() }
      let key = try CommandError.anchor { () throws(AnchorError) in
        try AnchorKey.readOrMake(folder)
      }
      Terminal.write(key.publicPEM, to: STDOUT_FILENO)
      return .good
    }
    // No journal, no key: a mistyped folder gets nothing.
    guard try CommandError.store({ () throws(StoreError) in try folder.hasJournal() }) else {
      throw .store(.foreign("there is no journal.sqlite in \(folder.path)"))
    }
    let anchor = try CommandError.anchor { () throws(AnchorError) in
      try Anchor.make(of: folder, at: Clock.now(), by: try AnchorKey.readOrMake(folder))
    }
    if let path = words["--append"] {
      do throws(PlatformError) {
        try AppendedFile.append(line: anchor.line, to: path)
      } catch {
        throw .unavailable("\(error); nothing is anchored, give another --append")
      }
    }
    Terminal.write(anchor.line + [0x0A], to: STDOUT_FILENO)
    return .good
  }
}

extension CommandError {
  /// Runs a step about anchors under this command's error.
  static func anchor<Value>(
    _ step: () throws(AnchorError) -> Value
  ) throws(CommandError) -> Value {
    do throws(AnchorError) {
      return try step()
    } catch {
      guard case .store(let error) = error else { throw .unavailable(error.description) }
      throw .store(error)
    }
  }
}
