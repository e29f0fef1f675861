// Which connections of a node could be read on the wire. In PROD each of them needs TLS, unless the operator overrides
// it. Traffic within this machine (loopback, Unix sockets) is exempt.

export const PLAINTEXT = ['http', 'nats', 'postgres'] as const
export type Plaintext = (typeof PLAINTEXT)[number]

type Env = Readonly<Record<string, string | undefined>>

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[?::1\]?)$/i
/** With these the driver encrypts, and refuses a server whose certificate it does not trust. */
const VERIFIED: ReadonlySet<string> = new Set(['require', 'verify-ca', 'verify-full'])

/** What would be unencrypted: the setting that causes it, and what to do. */
export function findPlaintext(
  config: {
    readonly host: string
    readonly store: { readonly kind: 'sqlite' } | { readonly kind: 'postgres'; readonly url: string }
    readonly nats: { readonly servers: readonly string[] } | null
  },
  env: Env,
): readonly {
  readonly what: Plaintext
  readonly setting: 'host' | 'store' | 'natsServers'
  readonly next: string
}[] {
  const found = []
  if (!LOOPBACK.test(config.host))
    found.push({
      what: 'http',
      setting: 'host',
      next: 'Listen on 127.0.0.1 behind a proxy that speaks TLS',
    } as const)
  if (config.store.kind === 'postgres' && !isPostgresSafe(config.store.url, env))
    found.push({
      what: 'postgres',
      setting: 'store',
      next: 'Add ?sslmode=verify-full to the URL',
    } as const)
  if (config.nats?.servers.some((server) => !isNatsSafe(server)))
    found.push({ what: 'nats', setting: 'natsServers', next: 'Write tls:// in place of nats://' } as const)
  return found
}

function isNatsSafe(server: string): boolean {
  const url = new URL(server)
  return url.protocol === 'tls:' || LOOPBACK.test(url.hostname)
}

/**
 * As the driver reads the URL: parameters take precedence over its other parts, and the environment supplies the rest.
 */
function isPostgresSafe(text: string, env: Env): boolean {
  const url = new URL(text)
  const asked = url.searchParams
  const host = asked.get('host') || decodeURIComponent(url.hostname) || env.PGHOST || 'localhost'
  if (host.startsWith('/') || LOOPBACK.test(host)) return true
  if (asked.has('ssl')) return /^(true|1)$/.test(asked.get('ssl') ?? '')
  const mode = asked.get('sslmode') || env.PGSSLMODE || 'disable'
  // As libpq means it, `require` accepts any certificate.
  return VERIFIED.has(mode) && !(mode === 'require' && asked.get('uselibpqcompat') === 'true')
}
