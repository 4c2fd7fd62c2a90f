import Platform

/// A systemd unit for the daemon: it may do what it does, and nothing else (systemd.exec(5)).
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
    Description=Subledger, the truth about App Store customers
    Documentation=man:subledger(1)
    After=network.target

    [Service]
    Type=notify
    NotifyAccess=main
    ExecStart=\(ProgramPath.own) serve --config \(plan.config)
    ExecReload=/bin/kill -HUP $MAINPID
    User=\(plan.user)
    Restart=on-failure
    RestartSec=2
    # A start may have to copy a write-ahead log, an end to finish what is in flight.
    TimeoutStartSec=600
    TimeoutStopSec=60
    WatchdogSec=60
    LimitNOFILE=8192
    LimitCORE=0
    UMask=0077
    \(place)
    \(credentials)
    # Nothing of the system can be written, nothing of other users seen.
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
    # Reactors stand aside for the writer, and all for what nobody waits for.
    SystemCallFilter=setpriority
    SystemCallErrorNumber=EPERM

    [Install]
    WantedBy=multi-user.target

    """
  }

  private var place: String {
    let home = "/var/lib/"
    let name = plan.data.hasPrefix(home) ? String(plan.data.dropFirst(home.count)) : ""
    let anchors = "# Anchors on another volume: ReadWritePaths=/mnt/elsewhere"
    guard !name.isEmpty, !name.contains("/") else {
      return "ReadWritePaths=\(plan.data)\n\(anchors)"
    }
    return "StateDirectory=\(name)\nStateDirectoryMode=0700\n\(anchors)"
  }

  /// The daemon looks in $CREDENTIALS_DIRECTORY before it looks beside its configuration.
  private var credentials: String {
    guard let secret else {
      return "# A V1 secret: LoadCredential=v1.secret:\(plan.folder)/v1.secret"
    }
    return "# As it is at the start: a new secret wants a restart.\nLoadCredential=v1.secret:"
      + secret
  }

  private var addresses: String {
    plan.isLocal ? "IPAddressDeny=any\nIPAddressAllow=localhost\n" : ""
  }
}
