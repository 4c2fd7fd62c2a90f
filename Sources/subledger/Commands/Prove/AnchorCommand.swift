import Audit
import Platform
import Store

/// `anchor`: the head of the journal as one signed line.
enum AnchorCommand {
  static let flags: [Command.Flag] = [
    .init("--append", "FILE", "also append the line to FILE, and sync it"),
    .init("--public-key", "print the public key in PEM instead; makes a key if none exists"),
    .init("--json", "no effect: an anchor is JSON already"),
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let folder = arguments.folder(try arguments.configuration())
    if arguments.has("--public-key") {
      guard arguments["--append"] == nil else {
        throw .usage("give only one of --public-key and --append")
      }
      // The key can be needed before the first start of the daemon.
      try folder.create()
      let key = try AnchorKey.readOrMake(folder)
      Terminal.write(key.publicPEM)
      return .good
    }
    // A mistyped folder gets no key.
    try folder.requireJournal()
    let anchor = try Anchor.make(of: folder, at: Clock.now(), by: try AnchorKey.readOrMake(folder))
    if let path = arguments["--append"] {
      do throws(LedgerError) {
        try AppendedFile.append(line: anchor.line, to: path)
      } catch {
        throw .unavailable("\(error.detail); no anchor was written, give another --append")
      }
    }
    Terminal.write(anchor.line + [0x0A])
    return .good
  }
}
