import Platform

/// A systemd unit for the daemon, which allows it nothing that it does not need (systemd.exec(5)).
struct ServiceUnit {
  private let plan: InitPlan
  /// The V1 secret's file; nil where no app takes V1.
  private let secret: String?

  init(_ plan: InitPlan, secret: String?) {
    self.plan = plan
    self.secret = secret
  }

  var text: String {
    """
    [Unit]
    Description=Subledger, a journal of App Store notifications
    Documentation=man:subledger(1) man:subledger-config(5)
    After=network.target

    [Service]
    Type=notify
    NotifyAccess=main
    ExecStart=\(ProgramPath.own) serve --config \(plan.config)
    ExecReload=/bin/kill -HUP $MAINPID
    User=\(plan.user)
    Restart=on-failure
    RestartSec=2
    # A start may copy a write-ahead log; a stop finishes the requests in flight.
    TimeoutStartSec=600
    TimeoutStopSec=60
    WatchdogSec=60
    LimitNOFILE=8192
    LimitCORE=0
    UMask=0077
    \(dataAccess)
    \(credentials)
    # The daemon can neither write system files nor see other users' files and processes.
    ProtectSystem=strict
    ProtectHome=yes
    ProtectProc=invisible
    PrivateTmp=yes
    PrivateDevices=yes
    PrivateUsers=yes
    PrivateIPC=yes
    PrivateMounts=yes
    RemoveIPC=yes
    ProtectClock=yes
    ProtectHostname=yes
    ProtectKernelLogs=yes
    ProtectKernelModules=yes
    ProtectKernelTunables=yes
    ProtectControlGroups=yes
    NoNewPrivileges=yes
    CapabilityBoundingSet=
    AmbientCapabilities=
    LockPersonality=yes
    MemoryDenyWriteExecute=yes
    RestrictNamespaces=yes
    RestrictRealtime=yes
    RestrictSUIDSGID=yes
    RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
    \(addresses)SystemCallArchitectures=native
    SystemCallFilter=@system-service
    SystemCallFilter=~@privileged @resources
    # Reactors run at a lower priority than the writer, background work at a lower one still.
    SystemCallFilter=setpriority
    SystemCallErrorNumber=EPERM

    [Install]
    WantedBy=multi-user.target

    """
  }

  /// Write access to the data folder.
  private var dataAccess: String {
    let home = "/var/lib/"
    let name = plan.data.hasPrefix(home) ? String(plan.data.dropFirst(home.count)) : ""
    let anchors = "# Anchors on another volume: ReadWritePaths=/mnt/elsewhere"
    guard !name.isEmpty, !name.contains("/") else {
      return "ReadWritePaths=\(plan.data)\n\(anchors)"
    }
    return "StateDirectory=\(name)\nStateDirectoryMode=0700\n\(anchors)"
  }

  /// The daemon looks up a bare file name in $CREDENTIALS_DIRECTORY before it looks in the folder
  /// of its configuration.
  private var credentials: String {
    guard let secret else {
      return "# A V1 secret, or Apple's key: LoadCredential=v1.secret:\(plan.folder)/v1.secret"
    }
    return
      "# systemd reads it at the start: a new secret needs a restart.\nLoadCredential=v1.secret:"
      + secret
  }

  private var addresses: String {
    plan.isLocal
      ? """
      # If it asks nobody, neither Apple nor sinks, mirrors or a shared journal elsewhere:
      # IPAddressDeny=any
      # IPAddressAllow=localhost

      """ : ""
  }
}
