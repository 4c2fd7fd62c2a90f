/// `help`: the list of commands, the help of one command, or a topic of the documentation.
enum HelpCommand {
  static func run(_ arguments: Arguments) throws(CommandError) -> ExitCode {
    guard !arguments.operands.isEmpty else {
      Terminal.print(CommandTable.help)
      return .good
    }
    let name = try arguments.operand("a command or a topic")
    if let topic = HelpTopic(rawValue: name) {
      Terminal.print(topic.document.text)
      return .good
    }
    guard let command = CommandTable.commands.first(where: { $0.name == name }) else {
      throw .usage("'\(name)' is not a command and not a topic. \(HelpTopic.list)")
    }
    return command.run(["--help"])
  }
}
