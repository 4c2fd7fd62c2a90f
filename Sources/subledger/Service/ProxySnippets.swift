/// Configurations for reverse proxies that add TLS to the daemon. They publish `/v1/notifications`
/// alone: Apple needs no other path, and the others are for the owner's network.
enum ProxySnippets {
  /// - Parameter upstream: HOST:PORT of the daemon.
  static func nginx(host: String, upstream: String) -> String {
    """
    # Subledger behind nginx: copy to /etc/nginx/conf.d/ and set your certificate.
    upstream subledger {
      server \(upstream);
      keepalive 32;
    }

    # For each address of a client. Apple sends a refused notification again.
    limit_req_zone $binary_remote_addr zone=subledger_requests:10m rate=100r/s;
    limit_conn_zone $binary_remote_addr zone=subledger_connections:10m;

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

      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      # The proxy need not repeat a request: Apple does.
      proxy_next_upstream off;
      proxy_read_timeout 30s;

      # The only path that Apple needs.
      location = /v1/notifications {
        limit_req zone=subledger_requests burst=400 nodelay;
        limit_conn subledger_connections 64;
        # Apple's network alone:
        # allow 17.0.0.0/8;
        # deny all;
        proxy_pass http://subledger;
      }

      location / {
        return 404;
      }
    }

    """
  }

  /// - Parameter upstream: HOST:PORT of the daemon.
  static func caddy(host: String, upstream: String) -> String {
    """
    # Subledger behind Caddy, which obtains and renews the certificate itself. Caddy has no limit of
    # requests without a plugin; the daemon limits connections itself.
    \(host) {
      request_body {
        max_size 4MiB
      }

      # The only path that Apple needs. The commented line admits Apple's network alone.
      @notifications {
        path /v1/notifications
        # remote_ip 17.0.0.0/8
      }
      handle @notifications {
        reverse_proxy \(upstream)
      }

      handle {
        respond 404
      }
    }

    """
  }
}
