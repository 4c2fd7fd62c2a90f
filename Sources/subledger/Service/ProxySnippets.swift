/// Configurations for reverse proxies that add TLS to the daemon.
enum ProxySnippets {
  /// - Parameter upstream: HOST:PORT of the daemon.
  static func nginx(host: String, upstream: String) -> String {
    """
    # Subledger behind nginx: copy to /etc/nginx/conf.d/ and set your certificate.
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
        # The proxy need not repeat a request: Apple does.
        proxy_next_upstream off;
        proxy_read_timeout 30s;
      }
    }

    """
  }

  /// - Parameter upstream: HOST:PORT of the daemon.
  static func caddy(host: String, upstream: String) -> String {
    """
    # Subledger behind Caddy, which obtains and renews the certificate itself.
    \(host) {
      request_body {
        max_size 4MiB
      }
      reverse_proxy \(upstream)
    }

    """
  }
}
