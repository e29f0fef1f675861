// The environment, checked once. Every problem is found in one pass, and each says what to write instead; values of
// settings that may contain secrets are never repeated.

import { getHeapStatistics } from 'node:v8'
import type { TenantLimits } from '../core/access/callers/index.ts'
import { VAR_SETTING, type VarSettings } from '../core/definitions/documents/index.ts'
import { ROLES, type Role } from '../core/queue/node-role/index.ts'
import { findPlaintext } from './plaintext.ts'
import {
  CLIENT_SETTINGS,
  type Context,
  type NatsConfig,
  Problem,
  SETTINGS,
  type StoreConfig,
  type TenantAllowance,
  type VaultConfig,
  type VaultLogin,
} from './schema.ts'
import { readVarSettings } from './var-settings.ts'

type Value<Name extends keyof typeof SETTINGS> = Exclude<
  ReturnType<(typeof SETTINGS)[Name]['parse']>,
  Problem
>

export interface Config {
  readonly environment: Value<'environment'>
  /** `MILLRACE_VAR_<name>`, by name: values of `vars` in place of those of the definitions. */
  readonly vars: VarSettings
  readonly dataFolder: string
  readonly port: number
  readonly host: string
  readonly store: StoreConfig
  /** The group at which the operator accepts that the data file ends; null: no loss is accepted. */
  readonly acceptLoss: number | null
  /** What the operator confirmed about a copied data file or another master key; null: nothing. */
  readonly confirmCopy: string | null
  readonly node: string
  /** The node's roles, each once; never empty. */
  readonly roles: readonly Role[]
  /** null: there is no bus. */
  readonly nats: NatsConfig | null
  /** null: generated at the first start. */
  readonly adminKey: string | null
  /** null: generated at the first start. */
  readonly masterKey: Uint8Array | null
  /** What they encrypted can still be decrypted. */
  readonly masterKeysOld: readonly Uint8Array[]
  /** null: `{ file }` finds nothing. */
  readonly secretsFolder: string | null
  /** What `{ env }` may read; null: all except names that usually hold secrets of the machine. */
  readonly secretEnv: readonly string[] | null
  /** null: secrets are stored in the store. */
  readonly vault: VaultConfig | null
  /** null: the demo definitions. */
  readonly flowsFolder: string | null
  /** `stdout`, `stderr` or a path. */
  readonly log: string
  /** From this size on the log file is rotated. */
  readonly logBytesMax: number
  /** This many rotated files stay. */
  readonly logFiles: number
  readonly logLevel: Value<'logLevel'>
  readonly leaseMs: number
  readonly concurrency: number
  /** `auto`: a share of the memory that the process has. */
  readonly runningBytes: number | 'auto'
  readonly escalateAfterMs: number
  readonly systemEvents: Value<'systemEvents'>
  readonly canonicalRetentionMs: number
  readonly ledgerRetentionMs: number
  /** 0: none. */
  readonly replayReadyPerMinute: number
  readonly bodyBytesMax: number
  /** For all request bodies in progress together; at least `bodyBytesMax`. */
  readonly heldBytesMax: number
  readonly connectionsPerAddressMax: number
  /** Names of headers, in lower case; `*` at the end: all with that prefix. */
  readonly keptHeaders: readonly string[]
  /** Networks in CIDR notation. */
  readonly trustedProxies: readonly string[]
  /** Without a slash at the end; null: as requests say. */
  readonly publicUrl: string | null
  /** Networks in CIDR notation, hosts, `*.` and a domain. */
  readonly outboundAllow: readonly string[]
  /** Which part of it each tenant reaches; null: all tenants reach all of it. */
  readonly outboundTenants: readonly TenantAllowance[] | null
  /** How much one tenant may have. */
  readonly limits: TenantLimits
  /** 0: no limit. */
  readonly openJobsMax: number
  readonly checkTimeoutMs: number
  readonly shutdownMs: number
  /** From "not ready" until requests are refused. */
  readonly drainDelayMs: number
}

const VAULT_LOGINS =
  'Set this, or MILLRACE_VAULT_TOKEN_FILE, or MILLRACE_VAULT_ROLE_ID with MILLRACE_VAULT_SECRET_ID, and none of the others.'

export interface ConfigFinding {
  readonly setting: string
  /** What is wrong and what to do. */
  readonly message: string
}

export type ResolvedConfig =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly ConfigFinding[] }
  | { readonly ok: false; readonly findings: readonly ConfigFinding[] }

export function resolveConfig(env: Readonly<Record<string, string | undefined>>): ResolvedConfig {
  const findings: ConfigFinding[] = []

  const read = <Name extends keyof typeof SETTINGS>(name: Name, context: Context): Value<Name> | null => {
    const setting = SETTINGS[name]
    const given = env[setting.env]?.trim()
    const text = given === undefined || given === '' ? setting.default(context) : given
    if (text === null) return null
    const value = setting.parse(text, context)
    if (!(value instanceof Problem)) return value as Value<Name>
    const shown = setting.secret ? 'what is set' : `‘${text}’`
    findings.push({ setting: setting.env, message: `${shown} cannot be used. ${value.text}` })
    return null
  }

  const isGiven = (name: keyof typeof SETTINGS) => (env[SETTINGS[name].env]?.trim() ?? '') !== ''

  const refuse = (name: keyof typeof SETTINGS, message: string) => {
    findings.push({ setting: SETTINGS[name].env, message })
  }

  const first: Context = { environment: 'DEV', dataFolder: '' }
  const environment = read('environment', first) ?? 'DEV'
  const dataFolder = read('dataFolder', first) ?? ''
  const context: Context = { environment, dataFolder }

  const resolveVault = (): VaultConfig | null => {
    const before = findings.length
    const [url, token, file] = [
      read('vaultUrl', context),
      read('vaultToken', context),
      read('vaultTokenFile', context),
    ]
    const [roleId, secretId] = [read('vaultRoleId', context), read('vaultSecretId', context)]
    const rest = {
      mount: read('vaultMount', context) as string,
      prefix: read('vaultPrefix', context) as string,
      namespace: read('vaultNamespace', context),
      staleMs: read('vaultStaleMs', context) as number,
    }
    if (findings.length > before) return null
    const logins: VaultLogin[] = []
    if (token !== null) logins.push({ by: 'token', token })
    if (file !== null) logins.push({ by: 'file', file })
    if (roleId !== null && secretId !== null) logins.push({ by: 'role', roleId, secretId })
    const isHalf = (roleId === null) !== (secretId === null)
    const [login] = logins
    if (url === null) {
      if (login !== undefined || isHalf) refuse('vaultUrl', 'Set it too, or nothing of the vault.')
      return null
    }
    if (login === undefined || logins.length > 1 || isHalf) {
      refuse('vaultToken', VAULT_LOGINS)
      return null
    }
    return Object.freeze({ url, login, ...rest })
  }

  const resolveNats = (): NatsConfig | null => {
    const servers = read('natsServers', context)
    const credentialsFile = read('natsCredentialsFile', context)
    const prefix = read('natsPrefix', context) as string
    const streams = Object.freeze(read('natsStreams', context) ?? [])
    if (servers !== null)
      return Object.freeze({ servers: Object.freeze([...servers]), credentialsFile, prefix, streams })
    if (credentialsFile !== null && !isGiven('natsServers'))
      refuse('natsServers', 'Set it too, or take MILLRACE_NATS_CREDS away.')
    return null
  }

  /** No other process reads the file: what this node does not do would never be done. */
  const resolveRoles = (store: StoreConfig | null): readonly Role[] => {
    const roles = read('roles', context) ?? []
    const missing = ROLES.filter((role) => !roles.includes(role))
    if (store?.kind === 'sqlite' && roles.length > 0 && missing.length > 0)
      refuse(
        'roles',
        `With SQLite there is one node, and no node would have the roles ${missing.join(', ')}. Leave this out, or set MILLRACE_STORE to a postgres:// URL that nodes with the other roles share.`,
      )
    return Object.freeze([...roles])
  }

  /** A body of the maximum size always fits. */
  const resolveHeldBytes = (bodyBytesMax: number | null): number => {
    const given = read('heldBytesMax', context)
    const least = bodyBytesMax ?? 0
    if (given === null) return Math.max(least, heldBytesDefault(getHeapStatistics().heap_size_limit))
    if (given < least)
      refuse('heldBytesMax', 'It must be at least MILLRACE_BODY_LIMIT: write more, or make that smaller.')
    return given
  }

  const store = read('store', context)
  const bodyBytesMax = read('bodyBytesMax', context)
  const config = {
    environment,
    vars: readVarSettings(env, (setting, message) => findings.push({ setting, message })),
    dataFolder,
    port: read('port', context) as number,
    host: read('host', context) as string,
    store: store as StoreConfig,
    acceptLoss: read('acceptLoss', context),
    confirmCopy: read('confirmCopy', context),
    node: read('node', context) as string,
    roles: resolveRoles(store),
    nats: resolveNats(),
    adminKey: read('adminKey', context),
    masterKey: read('masterKey', context),
    masterKeysOld: Object.freeze(read('masterKeysOld', context) ?? []),
    secretsFolder: read('secretsFolder', context),
    secretEnv: read('secretEnv', context),
    vault: resolveVault(),
    flowsFolder: read('flowsFolder', context),
    log: read('log', context) as string,
    logBytesMax: read('logBytesMax', context) as number,
    logFiles: read('logFiles', context) as number,
    logLevel: read('logLevel', context) as Config['logLevel'],
    leaseMs: read('leaseMs', context) as number,
    concurrency: read('concurrency', context) as number,
    runningBytes: read('runningBytes', context) as number | 'auto',
    escalateAfterMs: read('escalateAfterMs', context) as number,
    systemEvents: read('systemEvents', context) as Config['systemEvents'],
    canonicalRetentionMs: read('canonicalRetentionMs', context) as number,
    ledgerRetentionMs: read('ledgerRetentionMs', context) as number,
    replayReadyPerMinute: read('replayReadyPerMinute', context) as number,
    bodyBytesMax: bodyBytesMax as number,
    heldBytesMax: resolveHeldBytes(bodyBytesMax),
    connectionsPerAddressMax: read('connectionsPerAddressMax', context) as number,
    keptHeaders: Object.freeze(read('keptHeaders', context) ?? []),
    trustedProxies: Object.freeze(read('trustedProxies', context) ?? []),
    publicUrl: read('publicUrl', context),
    outboundAllow: Object.freeze(read('outboundAllow', context) ?? []),
    outboundTenants: read('outboundTenants', context),
    limits: Object.freeze({
      secrets: read('tenantSecrets', context) as number,
      definitions: read('tenantDefinitions', context) as number,
      keys: read('tenantKeys', context) as number,
      subscriptions: read('tenantSubscriptions', context) as number,
    }),
    openJobsMax: read('openJobsMax', context) as number,
    checkTimeoutMs: read('checkTimeoutMs', context) as number,
    shutdownMs: read('shutdownMs', context) as number,
    drainDelayMs: read('drainDelayMs', context) as number,
  } satisfies Config
  const allowed = read('allowPlaintext', context) ?? []
  if (environment === 'PROD' && findings.length === 0)
    for (const { what, setting, next } of findPlaintext(config, env))
      if (!allowed.includes(what))
        refuse(
          setting,
          `In PROD this needs TLS, and what is set would go unencrypted. ${next}, or name ${what} in MILLRACE_ALLOW_PLAINTEXT if the network is yours alone.`,
        )
  if (findings.length > 0) return { ok: false, findings }
  Object.freeze(config.store)
  return { ok: true, config: Object.freeze(config), warnings: findUnknown(env) }
}

const MIB = 1_048_576

/** A body in memory (its text, its values, its row) takes several times its bytes. */
export function heldBytesDefault(heapBytesMax: number): number {
  return Math.min(256 * MIB, Math.max(8 * MIB, Math.floor(heapBytesMax / 16)))
}

/** An unknown name is a typing error, or belongs to a later version: worth a warning, not a refusal. */
function findUnknown(env: Readonly<Record<string, string | undefined>>): ConfigFinding[] {
  const all = [...Object.values(SETTINGS), ...Object.values(CLIENT_SETTINGS)]
  const known = new Set<string>(all.map((setting) => setting.env))
  return Object.keys(env)
    .filter(
      (name) =>
        name.startsWith('MILLRACE_') &&
        !name.startsWith('MILLRACE_TEST_') &&
        !name.startsWith(VAR_SETTING) &&
        !known.has(name),
    )
    .sort()
    .map((name) => ({
      setting: name,
      message: 'is not a setting; it is ignored. docs/settings.md lists them.',
    }))
}
