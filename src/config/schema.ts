// The only list of settings. What the process is told by its environment, docs/settings.md and `--help` all come from it.
//
// A setting's `parse` answers the value, or a `Problem` whose text says what to write instead. Defaults may depend on
// settings above them in the list, and are texts themselves, so that they are documented as they would be written.

import { join } from 'node:path'
import ipaddr from 'ipaddr.js'
import { parseOutboundEntry } from '../core/guard/index.ts'
import { parseMasterKey } from '../core/secret/index.ts'
import { parseDuration, parseSize } from './units.ts'

const ENVIRONMENTS = ['DEV', 'QA', 'PROD'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

export const LOG_LEVELS = ['info', 'warn', 'error', 'silent'] as const

export type StoreConfig =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string }

export class Problem {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** What the settings above have become; defaults and rules may look at it. */
export interface Context {
  readonly environment: Environment
  readonly dataFolder: string
}

interface Setting<Value> {
  readonly env: string
  /** For people: what may be written. */
  readonly type: string
  /** null: there is none; the description says what happens then. */
  default(context: Context): string | null
  /** For the documentation, where the default depends on something. */
  readonly defaultText: string
  readonly description: string
  /** Never shown. */
  readonly secret?: true
  parse(text: string, context: Context): Value | Problem
}

function setting<Value>(
  row: Omit<Setting<Value>, 'default'> & { default?: Setting<Value>['default'] },
): Setting<Value> {
  return { default: () => row.defaultText, ...row }
}

const LOOPBACK = ['127.0.0.0/8', '::1/128'] as const

export const SETTINGS = {
  environment: setting<Environment>({
    env: 'MILLRACE_ENV',
    type: 'DEV, QA or PROD',
    defaultText: 'DEV',
    description: 'Where this runs. It is written to every log line, and DEV has friendlier defaults.',
    parse: (text) =>
      ENVIRONMENTS.find((name) => name === text.toUpperCase()) ?? new Problem('Write DEV, QA or PROD.'),
  }),
  dataFolder: setting<string>({
    env: 'MILLRACE_DATA',
    type: 'a folder',
    defaultText: './data',
    description: 'Where files are kept that have no setting of their own. It is made when it is missing.',
    parse: (text) => text,
  }),
  port: setting<number>({
    env: 'MILLRACE_PORT',
    type: 'a port, 0 for any free one',
    defaultText: '4400',
    description: 'The port to listen on, for webhooks, API and console.',
    parse: (text) => parseWhole(text, 0, 65_535),
  }),
  host: setting<string>({
    env: 'MILLRACE_HOST',
    type: 'an address or host name of this machine',
    defaultText: '127.0.0.1',
    description: 'The address to listen on. Set it to `0.0.0.0` to be reached from other machines.',
    parse: (text) =>
      /^[\w.:-]+$/.test(text) ? text : new Problem('Write an address such as 127.0.0.1 or 0.0.0.0.'),
  }),
  store: setting<StoreConfig>({
    env: 'MILLRACE_STORE',
    type: 'the path of a SQLite file, or a postgres:// URL',
    defaultText: '`millrace.db` in the data folder',
    default: ({ dataFolder }) => join(dataFolder, 'millrace.db'),
    description: 'Where everything is kept. With PostgreSQL several nodes can share it.',
    secret: true,
    parse: parseStore,
  }),
  node: setting<string>({
    env: 'MILLRACE_NODE',
    type: 'a name',
    defaultText: 'node-1',
    description:
      'The name of this node. It must stay over restarts, and differ between nodes that share a store. With PostgreSQL the default is the name of the machine.',
    parse: (text) =>
      /^[\w.-]{1,64}$/.test(text) ? text : new Problem('Use up to 64 letters, digits, dots and hyphens.'),
  }),
  adminKey: setting<string>({
    env: 'MILLRACE_ADMIN_KEY',
    type: 'a text without spaces',
    defaultText: 'made at the first start and kept in the data folder',
    default: () => null,
    description:
      'The key of the API and the console, sent as `authorization: Bearer <key>`. Outside of DEV it has at least 20 characters.',
    secret: true,
    parse: parseAdminKey,
  }),
  masterKey: setting<Uint8Array>({
    env: 'MILLRACE_MASTER_KEY',
    type: '32 bytes, base64 or hexadecimal',
    defaultText: 'made at the first start and kept in the data folder',
    default: () => null,
    description:
      'The key that seals secrets and sensitive events in the store. Keep it apart from the data; nodes that share a store need the same one. `openssl rand -base64 32` makes one.',
    secret: true,
    parse: (text) => parseMasterKey(text) ?? new Problem(MASTER_KEY_FORM),
  }),
  masterKeysOld: setting<readonly Uint8Array[]>({
    env: 'MILLRACE_MASTER_KEYS_OLD',
    type: 'master keys, separated by commas',
    defaultText: 'none',
    default: () => '',
    description:
      'Earlier master keys. What they sealed can still be opened; secrets are sealed with the current key at the start, sensitive events keep theirs.',
    secret: true,
    parse: parseMasterKeys,
  }),
  flowsFolder: setting<string>({
    env: 'MILLRACE_FLOWS',
    type: 'a folder',
    defaultText: 'in DEV the demo definitions of the package, elsewhere none',
    default: () => null,
    description: 'The folder of definitions to apply at the start.',
    parse: (text) => text,
  }),
  log: setting<string>({
    env: 'MILLRACE_LOG',
    type: '`stdout`, `stderr` or the path of a file',
    defaultText: '`millrace.log` in the data folder in DEV, `stdout` elsewhere',
    default: ({ environment, dataFolder }) =>
      environment === 'DEV' ? join(dataFolder, 'millrace.log') : 'stdout',
    description: 'Where log lines go, as JSON.',
    parse: (text) => text,
  }),
  logLevel: setting<(typeof LOG_LEVELS)[number]>({
    env: 'MILLRACE_LOG_LEVEL',
    type: 'info, warn, error or silent',
    defaultText: 'info',
    description: 'Which ordinary messages are logged. Lines at control points are always written.',
    parse: (text) =>
      LOG_LEVELS.find((name) => name === text.toLowerCase()) ??
      new Problem('Write info, warn, error or silent.'),
  }),
  leaseMs: setting<number>({
    env: 'MILLRACE_LEASE',
    type: 'a duration of 100ms to 1h',
    defaultText: '30s',
    description: 'How long after its last sign of life a node’s work is given to others.',
    parse: (text) => parseBounded(text, parseDuration, '100ms', '1h', 'a duration such as 30s'),
  }),
  concurrency: setting<number>({
    env: 'MILLRACE_CONCURRENCY',
    type: 'a whole number, 1 to 10000',
    defaultText: '256',
    description: 'How many work items a node has in hand at once.',
    parse: (text) => parseWhole(text, 1, 10_000),
  }),
  escalateAfterMs: setting<number>({
    env: 'MILLRACE_ESCALATE_AFTER',
    type: 'a duration of 1m to 30d',
    defaultText: '24h',
    description:
      'How long a failure may be open, while it is tried again, before people are told by an escalation.',
    parse: (text) => parseBounded(text, parseDuration, '1m', '30d', 'a duration such as 24h'),
  }),
  canonicalRetentionMs: setting<number>({
    env: 'MILLRACE_CANONICAL_RETENTION',
    type: 'a duration of 1h to 3650d',
    defaultText: '7d',
    description: 'How long events are kept by which Millrace tells of itself: `integration.>`.',
    parse: (text) => parseBounded(text, parseDuration, '1h', '3650d', 'a duration such as 7d'),
  }),
  ledgerRetentionMs: setting<number>({
    env: 'MILLRACE_LEDGER_RETENTION',
    type: 'a duration of 30d to 3650d',
    defaultText: '365d',
    description:
      'How long the ledger remembers effects of routes that are not defined any more. A route that is defined says it itself, or keeps them for as long as its events may come again, and at least 90 days.',
    parse: (text) => parseBounded(text, parseDuration, '30d', '3650d', 'a duration such as 365d'),
  }),
  replayReadyPerMinute: setting<number>({
    env: 'MILLRACE_REPLAY_READY',
    type: 'a whole number, 0 to 60000',
    defaultText: '0',
    description:
      'How many dead letters a minute are replayed by themselves once somebody has marked them ready. 0: none, a person replays them.',
    parse: (text) => parseWhole(text, 0, 60_000),
  }),
  bodyBytesMax: setting<number>({
    env: 'MILLRACE_BODY_LIMIT',
    type: 'a size of 1KiB to 64MiB',
    defaultText: '8MiB',
    description: 'The largest request body of all. A source’s own `limits.body` can only be smaller.',
    parse: (text) => parseBounded(text, parseSize, '1KiB', '64MiB', 'a size such as 8MiB'),
  }),
  trustedProxies: setting<readonly string[]>({
    env: 'MILLRACE_TRUSTED_PROXIES',
    type: 'networks in CIDR notation, or `loopback`, separated by commas',
    defaultText: 'none',
    default: () => '',
    description:
      'Proxies in front of the node whose `x-forwarded-for`, `x-forwarded-proto` and `x-forwarded-host` are believed. Failed sign-ins are counted, and senders allowed by `allow`, by the address that they name.',
    parse: parseNetworkList,
  }),
  publicUrl: setting<string>({
    env: 'MILLRACE_PUBLIC_URL',
    type: 'an http or https address',
    defaultText: 'as requests and trusted proxies say',
    default: () => null,
    description:
      'Where senders reach this node, such as https://hooks.example.com. Twilio, HubSpot and Square sign the address that they call: set it where a proxy changes that.',
    parse: parsePublicUrl,
  }),
  outboundAllow: setting<readonly string[]>({
    env: 'MILLRACE_OUTBOUND_ALLOW',
    type: 'networks in CIDR notation, hosts, domains such as `*.example.internal`, or `loopback`, separated by commas',
    defaultText: '`loopback` in DEV, nothing elsewhere',
    default: () => '',
    description:
      'What is not public and may be called all the same. A host that is named here may lead to private networks. In DEV this machine always may; public addresses may everywhere. [Security](security.md) has the rules.',
    parse: parseOutbound,
  }),
  shutdownMs: setting<number>({
    env: 'MILLRACE_SHUTDOWN',
    type: 'a duration of 0s to 10m',
    defaultText: '10s',
    description:
      'How long work in hand may take to end when the node is stopped; the rest is taken up after the restart.',
    parse: (text) => parseBounded(text, parseDuration, '0s', '10m', 'a duration such as 10s'),
  }),
} as const

function parsePublicUrl(text: string): string | Problem {
  const url = URL.canParse(text) ? new URL(text) : null
  const isPlain = url !== null && url.search === '' && url.hash === '' && url.username + url.password === ''
  if (!isPlain || !/^https?:$/.test(url.protocol) || /[?#\s]/.test(text)) {
    return new Problem(
      'Write an address such as https://hooks.example.com, with a path only if the proxy takes it away.',
    )
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

const ADMIN_KEY_LENGTH_MIN = 20

/** Everything hangs on it, and nobody counts the guesses that come as a bearer key. */
function parseAdminKey(text: string, { environment }: Context): string | Problem {
  if (!/^[\x21-\x7e]+$/.test(text)) return new Problem('Use visible ASCII characters, no spaces.')
  if (environment === 'DEV' || text.length >= ADMIN_KEY_LENGTH_MIN) return text
  const least = `Outside of DEV it has at least ${ADMIN_KEY_LENGTH_MIN} characters`
  return new Problem(`${least}; \`openssl rand -base64 32\` makes a good one.`)
}

const MASTER_KEY_FORM = 'Write 32 bytes as base64 or hexadecimal; `openssl rand -base64 32` makes them.'

function parseMasterKeys(text: string): readonly Uint8Array[] | Problem {
  const keys = text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map(parseMasterKey)
  const whole = keys.filter((key) => key !== null)
  return whole.length === keys.length ? whole : new Problem(`${MASTER_KEY_FORM} Separate several by commas.`)
}

/** What the commands that talk to a node read besides; the node itself does not. */
export const CLIENT_SETTINGS = {
  url: {
    env: 'MILLRACE_URL',
    type: 'the address of a node',
    defaultText: '`http://127.0.0.1` with `MILLRACE_PORT`',
    description: 'The node that commands talk to.',
  },
  key: {
    env: 'MILLRACE_KEY',
    type: 'a key of the API',
    defaultText: '`MILLRACE_ADMIN_KEY`, or `admin.key` in the data folder',
    description: 'The key that commands show.',
  },
} as const

function parseWhole(text: string, min: number, max: number): number | Problem {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : new Problem(`Write a whole number from ${min} to ${max}.`)
}

function parseBounded(
  text: string,
  parse: (text: string) => number | null,
  min: string,
  max: string,
  example: string,
): number | Problem {
  const value = parse(text)
  if (value === null) return new Problem(`Write ${example}.`)
  const inside = value >= (parse(min) as number) && value <= (parse(max) as number)
  return inside ? value : new Problem(`Write ${example}, between ${min} and ${max}.`)
}

function parseStore(text: string): StoreConfig | Problem {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase()
  if (scheme === 'postgres' || scheme === 'postgresql') {
    return URL.canParse(text)
      ? { kind: 'postgres', url: text }
      : new Problem(
          'Write the URL as postgres://user:password@host:5432/database, special characters percent-encoded.',
        )
  }
  if (text.includes(':memory:'))
    return new Problem('Write the path of a file: what is only in memory is lost.')
  if (text.includes('://'))
    return new Problem('Write the path of a SQLite file or a postgres:// URL; nothing else is supported.')
  return {
    kind: 'sqlite',
    file: scheme === 'sqlite' || scheme === 'file' ? text.slice(scheme.length + 1) : text,
  }
}

function parseOutbound(text: string, { environment }: Context): readonly string[] | Problem {
  const allowed = new Set<string>(environment === 'DEV' ? LOOPBACK : [])
  for (const word of wordsOf(text)) {
    const entries = parseOutboundEntry(word)
    if (entries === null)
      return new Problem(
        `‘${word}’ is neither a network nor a host; write for example 10.0.0.0/8, fd00::/8, crm.internal, *.example.internal or loopback.`,
      )
    for (const entry of entries) allowed.add(entry)
  }
  return [...allowed]
}

function wordsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '')
}

function parseNetworkList(text: string): readonly string[] | Problem {
  const networks = new Set<string>()
  for (const word of wordsOf(text)) {
    if (word === 'loopback') for (const network of LOOPBACK) networks.add(network)
    else if (ipaddr.isValidCIDR(word)) networks.add(word)
    else if (ipaddr.IPv4.isValidFourPartDecimal(word)) networks.add(`${word}/32`)
    else if (ipaddr.IPv6.isValid(word)) networks.add(`${word}/128`)
    else return new Problem(`‘${word}’ is not a network; write for example 10.0.0.0/8, fd00::/8 or loopback.`)
  }
  return [...networks]
}
