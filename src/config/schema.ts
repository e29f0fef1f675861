// The only list of settings. The process's environment, docs/settings.md and `--help` all come from it.
//
// A setting's `parse` returns the value, or a `Problem` whose text says what to write instead. Defaults may depend on
// settings above them in the list, and are texts themselves, so that they are documented as they would be written.

import { join } from 'node:path'
import ipaddr from 'ipaddr.js'
import { parseOutboundEntry } from '../core/access/network/index.ts'
import { SYSTEM_EVENTS, type SystemEvents } from '../core/events/canonical/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { parseStreamEntry, type StreamEntry } from '../core/ingest/bus-message/index.ts'
import { parseRoles, ROLES, type Role } from '../core/queue/node-role/index.ts'
import {
  isEnvEntry,
  isSimpleMasterKey,
  parseMasterKey,
  RESERVED_ENV,
  weaknessOf,
} from '../core/secrets/index.ts'
import { PLAINTEXT, type Plaintext } from './plaintext.ts'
import { parseDuration, parseSize } from './units.ts'

const ENVIRONMENTS = ['DEV', 'QA', 'PROD'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

export const LOG_LEVELS = ['info', 'warn', 'error', 'silent'] as const

export type StoreConfig =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** How the node authenticates at the vault. */
export type VaultLogin =
  | { readonly by: 'token'; readonly token: string }
  | { readonly by: 'file'; readonly file: string }
  | { readonly by: 'role'; readonly roleId: string; readonly secretId: string }

export interface VaultConfig {
  readonly url: string
  readonly login: VaultLogin
  readonly mount: string
  readonly prefix: string
  readonly namespace: string | null
  readonly staleMs: number
}

/** Which private addresses one tenant reaches; `*`: all that the node may. */
export interface TenantAllowance {
  readonly tenant: string
  readonly allow: readonly string[]
}

/** The bus between nodes and with other systems. */
export interface NatsConfig {
  /** `nats://` or `tls://`, each with a host. */
  readonly servers: readonly string[]
  /** The file with credentials; null: those of the addresses. */
  readonly credentialsFile: string | null
  /** The prefix of every subject of ours. */
  readonly prefix: string
  /** Which streams the sources of each tenant may read. */
  readonly streams: readonly StreamEntry[]
}

export class Problem {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The parsed values of the settings above; defaults and rules may read it. */
export interface Context {
  readonly environment: Environment
  readonly dataFolder: string
}

interface Setting<Value> {
  readonly env: string
  /** For the documentation: what may be written. */
  readonly type: string
  /** null: there is none; the description says what happens then. */
  default(context: Context): string | null
  /** For the documentation, if the default depends on something. */
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
    description:
      'Where files are stored that have no setting of their own. It is made when it is missing. The demo has `./data-demo`.',
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
  acceptLoss: setting<number>({
    env: 'MILLRACE_ACCEPT_LOSS',
    type: 'the number that the refused start named',
    defaultText: 'none: a data file that has lost acknowledged writes is refused',
    default: () => null,
    description:
      'Starts on a SQLite file that has lost acknowledged writes, once. `--accept-loss` of `millrace start` says the same. [Deployment](deployment.md) says what to do before that.',
    parse: (text) =>
      /^\d{1,15}$/.test(text) ? Number(text) : new Problem('Write the number that the refused start named.'),
  }),
  confirmCopy: setting<string>({
    env: 'MILLRACE_CONFIRM_COPY',
    type: 'the code that the paused node named',
    defaultText: 'none: a node that finds a copied data file, or not its master key, is paused',
    default: () => null,
    description:
      'Goes on with a data file that was copied, or whose master key is another one. `--confirm-copy` of `millrace start` says the same. [Deployment](deployment.md) says when.',
    parse: (text) =>
      /^[0-9a-f]{8}$/.test(text)
        ? text
        : new Problem('Write the code of eight characters that the node named.'),
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
  roles: setting<readonly Role[]>({
    env: 'MILLRACE_ROLES',
    type: 'of ingest, api, work, schedule and deliver, separated by commas',
    defaultText: 'all',
    default: () => ROLES.join(','),
    description:
      'What this node does. Nodes that share a PostgreSQL database may divide it; together they need all. `--role` of `millrace start` says the same. [Nodes](nodes.md) has what each role is.',
    parse: parseRoleList,
  }),
  natsServers: setting<readonly string[]>({
    env: 'MILLRACE_NATS_URL',
    type: 'one or more nats:// or tls:// addresses, separated by commas',
    defaultText: 'none: there is no bus',
    default: () => null,
    description:
      'The NATS servers of one cluster, with JetStream. Sources read from them, events and tokens are told there, and nodes wake each other by them.',
    secret: true,
    parse: parseNatsServers,
  }),
  natsCredentialsFile: setting<string>({
    env: 'MILLRACE_NATS_CREDS',
    type: 'a file',
    defaultText: 'none',
    default: () => null,
    description: 'Lets the node into NATS: a `.creds` file, as `nsc` writes it.',
    parse: (text) => text,
  }),
  natsPrefix: setting<string>({
    env: 'MILLRACE_NATS_PREFIX',
    type: 'one or more words with dots between them',
    defaultText: 'millrace',
    description:
      'What the subjects begin with by which this node tells of events and tokens, and wakes others. Nodes that share a store have the same.',
    parse: (text) =>
      /^[\w-]+(\.[\w-]+)*$/.test(text) && text.length <= 64
        ? text
        : new Problem('Use letters, digits, `_` and `-`, with dots between words, 64 characters at most.'),
  }),
  natsStreams: setting<readonly StreamEntry[]>({
    env: 'MILLRACE_NATS_STREAMS',
    type: 'entries `tenant=STREAM`, the stream a name or a beginning such as `ACME_*`, separated by commas',
    defaultText: 'none in PROD; elsewhere `default=*`',
    default: ({ environment }) => (environment === 'PROD' ? '' : `${DEFAULT_TENANT}=*`),
    description:
      'Which streams the sources of each tenant may read. A tenant that is not named reads none. The node’s own streams are never readable.',
    parse: parseStreams,
  }),
  adminKey: setting<string>({
    env: 'MILLRACE_ADMIN_KEY',
    type: 'a text without spaces',
    defaultText: 'made at the first start and kept in the data folder',
    default: () => null,
    description:
      'The key of the API and the console, sent as `authorization: Bearer <key>`. Outside of DEV it has at least 20 characters, and in PROD one that can be guessed is refused.',
    secret: true,
    parse: parseAdminKey,
  }),
  masterKey: setting<Uint8Array>({
    env: 'MILLRACE_MASTER_KEY',
    type: '32 bytes, base64 or hexadecimal',
    defaultText: 'made at the first start and kept in the data folder',
    default: () => null,
    description:
      'The key that seals secrets and sensitive events in the store. Keep it apart from the data; nodes that share a store need the same one. `openssl rand -base64 32` makes one. In PROD one that is too simple is refused.',
    secret: true,
    parse: parseOwnMasterKey,
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
  secretsFolder: setting<string>({
    env: 'MILLRACE_SECRETS_DIR',
    type: 'a folder',
    defaultText: 'none',
    default: () => null,
    description:
      'Where `{ file: name }` of definitions finds its files, such as `/run/secrets`. They are read when they are needed, and again when they change. Keys of the node itself belong in another folder: the node does not start while one of them lies in this one.',
    parse: (text) => text,
  }),
  secretEnv: setting<readonly string[]>({
    env: 'MILLRACE_SECRET_ENV',
    type: 'names of environment variables, or beginnings such as `STRIPE_*`, separated by commas',
    defaultText: 'none in PROD; elsewhere all but those that usually hold secrets of the machine',
    default: ({ environment }) => (environment === 'PROD' ? '' : null),
    description: `Which environment variables \`{ env: NAME }\` of definitions may read. Without this setting, outside of PROD, these are left out: ${RESERVED_ENV.map((beginning) => `\`${beginning}*\``).join(', ')}. The node’s own settings, \`MILLRACE_*\`, are never readable.`,
    parse: parseEnvNames,
  }),
  vaultUrl: setting<string>({
    env: 'MILLRACE_VAULT_URL',
    type: 'the https address of a HashiCorp Vault',
    defaultText: 'none: secrets are kept in the store, sealed',
    default: () => null,
    description:
      'Keeps secrets in this vault’s KV engine (version 2) instead of the store. [Vaults](vaults.md) has the policy that the node needs.',
    parse: parseVaultUrl,
  }),
  vaultToken: setting<string>({
    env: 'MILLRACE_VAULT_TOKEN',
    type: 'a token of the vault',
    defaultText: 'none',
    default: () => null,
    description:
      'Lets the node in. It is renewed while it can be. One of this, the file and the role is set.',
    secret: true,
    parse: parseVaultWord,
  }),
  vaultTokenFile: setting<string>({
    env: 'MILLRACE_VAULT_TOKEN_FILE',
    type: 'a file',
    defaultText: 'none',
    default: () => null,
    description:
      'Holds the token, as the vault’s agent writes it; it is read again when the vault refuses the token.',
    parse: (text) => text,
  }),
  vaultRoleId: setting<string>({
    env: 'MILLRACE_VAULT_ROLE_ID',
    type: 'the id of an AppRole',
    defaultText: 'none',
    default: () => null,
    description:
      'Lets the node in by a role, together with `MILLRACE_VAULT_SECRET_ID`; its tokens are renewed before they end.',
    secret: true,
    parse: parseVaultWord,
  }),
  vaultSecretId: setting<string>({
    env: 'MILLRACE_VAULT_SECRET_ID',
    type: 'the secret id of the role',
    defaultText: 'none',
    default: () => null,
    description: 'Belongs to `MILLRACE_VAULT_ROLE_ID`.',
    secret: true,
    parse: parseVaultWord,
  }),
  vaultMount: setting<string>({
    env: 'MILLRACE_VAULT_MOUNT',
    type: 'a path',
    defaultText: 'secret',
    description: 'Where the vault has its KV engine.',
    parse: parseVaultPath,
  }),
  vaultPrefix: setting<string>({
    env: 'MILLRACE_VAULT_PREFIX',
    type: 'a path',
    defaultText: 'millrace',
    description: 'Before the tenant and the name of each secret: `secret/millrace/default/crm`.',
    parse: parseVaultPath,
  }),
  vaultNamespace: setting<string>({
    env: 'MILLRACE_VAULT_NAMESPACE',
    type: 'a path',
    defaultText: 'none',
    default: () => null,
    description: 'The namespace of the vault, where it has some.',
    parse: parseVaultPath,
  }),
  vaultStaleMs: setting<number>({
    env: 'MILLRACE_VAULT_STALE',
    type: 'a duration of 0s to 1d',
    defaultText: '5m',
    description:
      'While the vault does not answer, values that were read before are used for so long after the last look; `0s`: not at all.',
    parse: (text) => parseBounded(text, parseDuration, '0s', '1d', 'a duration such as 5m'),
  }),
  flowsFolder: setting<string>({
    env: 'MILLRACE_FLOWS',
    type: 'a folder',
    defaultText: 'in DEV `./flows` where it exists, else the demo of the package; elsewhere none',
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
  logBytesMax: setting<number>({
    env: 'MILLRACE_LOG_SIZE',
    type: 'a size of 1MiB to 16GiB',
    defaultText: '64MiB',
    description:
      'A log file that has grown so large is renamed to `.1`, older ones move up, and a new one begins.',
    parse: (text) => parseBounded(text, parseSize, '1MiB', '16GiB', 'a size such as 64MiB'),
  }),
  logFiles: setting<number>({
    env: 'MILLRACE_LOG_FILES',
    type: 'a number from 1 to 100',
    defaultText: '5',
    description: 'How many full log files stay beside the one that is written.',
    parse: (text) => parseWhole(text, 1, 100),
  }),
  logLevel: setting<(typeof LOG_LEVELS)[number]>({
    env: 'MILLRACE_LOG_LEVEL',
    type: 'info, warn, error or silent',
    defaultText: 'info',
    description:
      'Which ordinary messages are logged. Lines at control points and the audit trail (access, keys, secrets, what users do) are always written.',
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
    description:
      'How many jobs a node runs at once: calls, deliveries and functions. A job that only waits for its commit does not count.',
    parse: (text) => parseWhole(text, 1, 10_000),
  }),
  runningBytes: setting<number | 'auto'>({
    env: 'MILLRACE_RUNNING_BYTES',
    type: 'a size of 1MiB to 64GiB, or `auto`',
    defaultText: 'auto',
    description:
      'How many bytes of events a node has leased jobs for at once, beside `MILLRACE_CONCURRENCY`; more wait in the store. `auto` is an eighth of the heap that Node may use beyond 144 MiB, and at least 4 MiB.',
    parse: (text) =>
      text === 'auto'
        ? 'auto'
        : parseBounded(text, parseSize, '1MiB', '64GiB', 'a size such as 64MiB, or auto'),
  }),
  escalateAfterMs: setting<number>({
    env: 'MILLRACE_ESCALATE_AFTER',
    type: 'a duration of 1m to 30d',
    defaultText: '24h',
    description:
      'How long a failure may be open, while it is tried again, before people are told by an escalation.',
    parse: (text) => parseBounded(text, parseDuration, '1m', '30d', 'a duration such as 24h'),
  }),
  systemEvents: setting<SystemEvents>({
    env: 'MILLRACE_SYSTEM_EVENTS',
    type: 'all, failures or none',
    defaultText: 'all',
    description:
      'Which events about Millrace itself are stored that no definition selects: all of them, those about failures, or none. Those that a definition selects are always emitted.',
    parse: (text) =>
      SYSTEM_EVENTS.find((name) => name === text.toLowerCase()) ??
      new Problem('Write all, failures or none.'),
  }),
  canonicalRetentionMs: setting<number>({
    env: 'MILLRACE_CANONICAL_RETENTION',
    type: 'a duration of 1h to 3650d',
    defaultText: '7d',
    description:
      'How long the events are stored that Millrace publishes about itself: `integration.>`, `webhook.>` and `workflow.>`.',
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
      'How many dead letters a minute are replayed automatically once an operator has marked them ready. 0: none, an operator replays them.',
    parse: (text) => parseWhole(text, 0, 60_000),
  }),
  bodyBytesMax: setting<number>({
    env: 'MILLRACE_BODY_LIMIT',
    type: 'a size of 1KiB to 64MiB',
    defaultText: '8MiB',
    description: 'The largest request body of all. A source’s own `limits.body` can only be smaller.',
    parse: (text) => parseBounded(text, parseSize, '1KiB', '64MiB', 'a size such as 8MiB'),
  }),
  heldBytesMax: setting<number>({
    env: 'MILLRACE_BODIES_LIMIT',
    type: 'a size of 1MiB to 16GiB',
    defaultText:
      'a sixteenth of the heap that Node may use, 8MiB to 256MiB, and no less than MILLRACE_BODY_LIMIT',
    default: () => null,
    description:
      'How many bytes of request bodies the node holds at once, those that wait for the store among them. Requests beyond it are answered 503 with `retry-after`. Messages of NATS that are under way have as many bytes again, which the sources share equally.',
    parse: (text) => parseBounded(text, parseSize, '1MiB', '16GiB', 'a size such as 128MiB'),
  }),
  connectionsPerAddressMax: setting<number>({
    env: 'MILLRACE_CONNECTIONS_PER_ADDRESS',
    type: 'a whole number, 1 to 100000',
    defaultText: '512',
    description:
      'How many connections one remote address may have open; one more is answered 429 and closed. An IPv6 network of 64 bits counts as one address. Connections of `MILLRACE_TRUSTED_PROXIES` are not counted.',
    parse: (text) => parseWhole(text, 1, 100_000),
  }),
  keptHeaders: setting<readonly string[]>({
    env: 'MILLRACE_KEEP_HEADERS',
    type: 'names of headers, separated by commas; `*` at the end means all that begin so',
    defaultText: 'none',
    default: () => '',
    description:
      'Headers of webhooks that are stored with their events besides those that say what an event is (content, vendor, delivery and trace) and those that a definition reads. Anything else is dropped, because it may be a credential.',
    parse: parseHeaderNames,
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
      'Where senders reach this node, such as https://hooks.example.com. Twilio, HubSpot and Square sign the address that they call: set it where a proxy changes that. Vendors that ask people for consent send them back to it.',
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
  outboundTenants: setting<readonly TenantAllowance[]>({
    env: 'MILLRACE_OUTBOUND_TENANTS',
    type: 'entries `tenant=entry`, the entry as in `MILLRACE_OUTBOUND_ALLOW` or `*` for all of it, separated by commas',
    defaultText: 'every tenant reaches what `MILLRACE_OUTBOUND_ALLOW` lists',
    default: () => null,
    description:
      'Which part of `MILLRACE_OUTBOUND_ALLOW` each tenant reaches. A tenant that is not named reaches public addresses alone, in DEV this machine too. An entry that `MILLRACE_OUTBOUND_ALLOW` does not cover allows nothing.',
    parse: parseAllowances,
  }),
  allowPlaintext: setting<readonly Plaintext[]>({
    env: 'MILLRACE_ALLOW_PLAINTEXT',
    type: 'of http, nats and postgres, separated by commas',
    defaultText: 'none',
    default: () => '',
    description:
      'What may go unencrypted in PROD: `http` where the node listens on an address that others reach (behind a proxy that speaks TLS, for example), `nats` for `nats://`, `postgres` for a URL without `sslmode`. Without it such a setting ends the start. What stays on this machine always may.',
    parse: parsePlaintext,
  }),
  tenantSecrets: setting<number>({
    env: 'MILLRACE_TENANT_SECRETS',
    type: 'a whole number, 1 to 1000000',
    defaultText: '2000',
    description: 'How many secrets the users of one tenant may set. More are refused, and nothing changes.',
    parse: (text) => parseWhole(text, 1, 1_000_000),
  }),
  tenantDefinitions: setting<number>({
    env: 'MILLRACE_TENANT_DEFINITIONS',
    type: 'a whole number, 1 to 1000000',
    defaultText: '5000',
    description: 'How many definitions one tenant may have deployed.',
    parse: (text) => parseWhole(text, 1, 1_000_000),
  }),
  tenantKeys: setting<number>({
    env: 'MILLRACE_TENANT_KEYS',
    type: 'a whole number, 1 to 1000000',
    defaultText: '1000',
    description: 'How many API keys one tenant may have.',
    parse: (text) => parseWhole(text, 1, 1_000_000),
  }),
  tenantSubscriptions: setting<number>({
    env: 'MILLRACE_TENANT_SUBSCRIPTIONS',
    type: 'a whole number, 1 to 1000000',
    defaultText: '20000',
    description:
      'How many webhook subscriptions one tenant may have, of the API and of definitions together.',
    parse: (text) => parseWhole(text, 1, 1_000_000),
  }),
  openJobsMax: setting<number>({
    env: 'MILLRACE_TENANT_OPEN_JOBS',
    type: 'a whole number, 0 to 100000000',
    defaultText: '0',
    description:
      'How many open jobs (ready, waiting, running, parked) and open dead letters one tenant may have together. Beyond it new events are answered 429 `backlog_full`, and messages of NATS wait in their stream; what was accepted goes on. Counted every two seconds, so a burst may pass it. 0: no limit.',
    parse: (text) => parseWhole(text, 0, 100_000_000),
  }),
  checkTimeoutMs: setting<number>({
    env: 'MILLRACE_CHECK_TIMEOUT',
    type: 'a duration of 1s to 5m',
    defaultText: '10s',
    description:
      'How long a check of definitions that are sent to the node may take. It runs beside everything else; at this time it is ended and refused.',
    parse: (text) => parseBounded(text, parseDuration, '1s', '5m', 'a duration such as 10s'),
  }),
  shutdownMs: setting<number>({
    env: 'MILLRACE_SHUTDOWN',
    type: 'a duration of 0s to 10m',
    defaultText: '10s',
    description:
      'How long work in hand may take to end when the node is stopped; the rest is taken up after the restart.',
    parse: (text) => parseBounded(text, parseDuration, '0s', '10m', 'a duration such as 10s'),
  }),
  drainDelayMs: setting<number>({
    env: 'MILLRACE_DRAIN_DELAY',
    type: 'a duration of 0s to 10m',
    defaultText: '0s',
    description:
      'How long a stopping node still accepts requests after `/readyz` says that it is not ready: as long as the load balancer needs to notice.',
    parse: (text) => parseBounded(text, parseDuration, '0s', '10m', 'a duration such as 5s'),
  }),
} as const

function parseHeaderNames(text: string): readonly string[] | Problem {
  const names = wordsOf(text.toLowerCase())
  const wrong = names.find((name) => !/^[a-z0-9][a-z0-9_-]*\*?$/.test(name))
  return wrong === undefined
    ? names
    : new Problem(`‘${wrong}’ is not the name of a header; write for example x-acme-user, x-acme-*.`)
}

function parseRoleList(text: string): readonly Role[] | Problem {
  const parsed = parseRoles(text)
  if ('unknown' in parsed)
    return new Problem(`‘${parsed.unknown}’ is not a role; write some of ${ROLES.join(', ')}.`)
  return parsed.roles.length > 0 ? parsed.roles : new Problem(`Write some of ${ROLES.join(', ')}.`)
}

function parseNatsServers(text: string): readonly string[] | Problem {
  const servers = wordsOf(text)
  const isServer = (word: string) => {
    const url = URL.canParse(word) ? new URL(word) : null
    return (
      url !== null && /^(nats|tls):$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname)
    )
  }
  return servers.length > 0 && servers.every(isServer)
    ? servers
    : new Problem(
        'Write nats://host:4222, or tls://host:4222; several of one cluster with commas between them.',
      )
}

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

/** Everything depends on it: in PROD one that can be guessed is refused. */
function parseAdminKey(text: string, { environment }: Context): string | Problem {
  if (!/^[\x21-\x7e]+$/.test(text)) return new Problem('Use visible ASCII characters, no spaces.')
  const weakness = environment === 'PROD' ? weaknessOf(text) : null
  if (weakness !== null && text.length >= ADMIN_KEY_LENGTH_MIN)
    return new Problem(`It can be guessed: ${weakness}. Use what \`openssl rand -base64 32\` prints.`)
  if (environment === 'DEV' || text.length >= ADMIN_KEY_LENGTH_MIN) return text
  const least = `Outside of DEV it has at least ${ADMIN_KEY_LENGTH_MIN} characters`
  return new Problem(`${least}; \`openssl rand -base64 32\` makes a good one.`)
}

function parseOwnMasterKey(text: string, { environment }: Context): Uint8Array | Problem {
  const key = parseMasterKey(text)
  if (key === null) return new Problem(MASTER_KEY_FORM)
  if (environment !== 'PROD' || !isSimpleMasterKey(key)) return key
  return new Problem(
    'It is weak and can be guessed. Use the output of `openssl rand -base64 32`, and name the weak one in MILLRACE_MASTER_KEYS_OLD if it encrypted anything.',
  )
}

const LOOPBACK_NAME = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** The token travels with every request: unencrypted only within this machine, or in development. */
function parseVaultUrl(text: string, { environment }: Context): string | Problem {
  const url = parsePublicUrl(text)
  if (url instanceof Problem) return new Problem('Write an address such as https://vault.example.com:8200.')
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || environment === 'DEV' || LOOPBACK_NAME.test(hostname)) return url
  return new Problem('Write an https address: the token would be seen on its way.')
}

function parseVaultWord(text: string): string | Problem {
  return /^[\x21-\x7e]+$/.test(text) ? text : new Problem('Use visible ASCII characters, no spaces.')
}

function parseVaultPath(text: string): string | Problem {
  const path = text.replace(/^\/+|\/+$/g, '')
  const isPath = path.split('/').every((part) => /^[\w.-]+$/.test(part) && !/^\.+$/.test(part))
  return isPath
    ? path
    : new Problem('Write names of letters, digits, dots, `_` and `-`, with slashes between them.')
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

/** Further settings that only the commands that talk to a node read. */
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

const ALLOWANCE = /^([a-z0-9][a-z0-9-]*)=(.+)$/

function parseAllowances(text: string, { environment }: Context): readonly TenantAllowance[] | Problem {
  const allowed = new Map<string, string[]>()
  for (const word of wordsOf(text)) {
    const [, tenant, entry] = ALLOWANCE.exec(word) ?? []
    const entries = entry === '*' ? ['*'] : parseOutboundEntry(entry ?? '')
    if (tenant === undefined || entries === null)
      return new Problem(`‘${word}’ is no entry; write for example acme=crm.internal, default=10.0.0.0/8.`)
    const own = allowed.get(tenant) ?? (environment === 'DEV' ? [...LOOPBACK] : [])
    allowed.set(tenant, [...own, ...entries])
  }
  return [...allowed].map(([tenant, allow]) => ({ tenant, allow }))
}

function wordsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '')
}

function parseStreams(text: string): readonly StreamEntry[] | Problem {
  const words = wordsOf(text)
  const entries = words.map(parseStreamEntry)
  const wrong = words.find((_, index) => entries[index] === null)
  return wrong === undefined
    ? entries.filter((entry) => entry !== null)
    : new Problem(`‘${wrong}’ is no entry; write for example default=ORDERS, acme=ACME_*.`)
}

function parsePlaintext(text: string): readonly Plaintext[] | Problem {
  const words = wordsOf(text.toLowerCase())
  const known = PLAINTEXT.filter((word) => words.includes(word))
  const wrong = words.find((word) => !PLAINTEXT.some((one) => one === word))
  return wrong === undefined ? known : new Problem(`Write some of ${PLAINTEXT.join(', ')}.`)
}

function parseEnvNames(text: string): readonly string[] | Problem {
  const names = wordsOf(text)
  const wrong = names.find((name) => !isEnvEntry(name))
  return wrong === undefined
    ? names
    : new Problem(
        `‘${wrong}’ is neither a name nor a beginning; write for example GITHUB_WEBHOOK_SECRET or STRIPE_*, and nothing that names settings of the node (MILLRACE_*).`,
      )
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
