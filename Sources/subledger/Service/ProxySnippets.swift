/// What a reverse proxy needs to know, which gives the daemon TLS.
enum ProxySnippets {
  /// - Parameter upstream: where the daemon listens.
  static func nginx(host: String, upstream: String) -> String {
    """
    # Subledger behind nginx: into /etc/nginx/conf.d/, with your certificate.
    upstream subledger {
      server \(upstream);
      keepalive 32;
    }

    server {
      listen 443 ssl;
      listen [::]:443 ssl;
      server_name \(host);

      ssl_certificate /etc/letsencrypt/live/\(host)/fullchain.pem;
      ssl_certificate_key /etc/letsencrypt/live/\(host)/privkey.pem;
      # Apple's servers speak TLS 1.2 and later.
      ssl_protocols TLSv1.2 TLSv1.3;

      # Version 1 notifications carry whole receipts.
      client_max_body_size 4m;

      location / {
        proxy_pass http://subledger;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        # A notification is answered once; Apple repeats, the proxy need not.
        proxy_next_upstream off;
        proxy_read_timeout 30s;
      }
    }

    """
  }

  /// - Parameter upstream: where the daemon listens.
  static func caddy(host: String, upstream: String) -> String {
    """
    # Subledger behind Caddy, which gets and renews the certificate by itself.
    \(host) {
      request_body {
        max_size 4MiB
      }
      reverse_proxy \(upstream)
    }

    """
  }
}
