import Platform

/// `help`: the list of commands, the help of one command, or a topic of the documentation.
enum HelpCommand {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    guard !arguments.operands.isEmpty else {
      Terminal.print(CommandTable.help)
      return .good
    }
    let name = try arguments.operand("a command or a topic")
    if let topic = HelpTopic(rawValue: name) {
      Terminal.print(topic.document.text)
      return .good
    }
    guard let command = CommandTable.command(name) else {
      let known = CommandTable.commands.map(\.name) + HelpTopic.allCases.map(\.rawValue)
      let suggestion = Suggestion.text(for: name, among: known)
      throw .usage("'\(name)' is no command and no topic\(suggestion)\n\(HelpTopic.list)")
    }
    return command.run(["--help"])
  }
}
