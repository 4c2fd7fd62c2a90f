import Platform

/// `help`: the list of commands, the help of one command, a topic of the documentation, or a page
/// of the operating guide.
enum HelpCommand {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    guard !arguments.operands.isEmpty else {
      Terminal.print(CommandTable.help)
      return .good
    }
    if arguments.operands.count == 2, arguments.operands[0] == HelpTopic.operating.rawValue {
      return try show(page: arguments.operands[1])
    }
    let name = try arguments.operand("a command or a topic")
    if let topic = HelpTopic(rawValue: name) {
      Terminal.print(topic.document.text)
      return .good
    }
    if let command = CommandTable.command(name) {
      let code = command.run(["--help"])
      if OperatingPage(rawValue: name) != nil {
        Terminal.print("\nThe page about it: subledger help operating \(name)")
      }
      return code
    }
    if OperatingPage(rawValue: name) != nil { return try show(page: name) }
    let known =
      CommandTable.commands.map(\.name) + HelpTopic.allCases.map(\.rawValue)
      + OperatingPage.allCases.map(\.rawValue)
    let suggestion = Suggestion.text(for: name, among: known)
    throw .usage(
      "'\(name)' is no command and no topic\(suggestion)\n\(HelpTopic.list)\n\(OperatingPage.list)")
  }

  private static func show(page name: String) throws(LedgerError) -> ExitCode {
    guard let page = OperatingPage(rawValue: name) else {
      let suggestion = Suggestion.text(for: name, among: OperatingPage.allCases.map(\.rawValue))
      throw .usage("there is no page '\(name)'\(suggestion)\n\(OperatingPage.list)")
    }
    Terminal.write(Array(page.printed.utf8))
    return .good
  }
}
