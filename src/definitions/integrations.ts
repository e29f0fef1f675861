// Providers, connections and credentials as far as other documents name them: those of the files, valid or not,
// deployed ones besides them, and the built-in providers.

import { BUILT_IN_PROVIDERS } from '../connectors/index.ts'
import type {
  AuthModel,
  DefinitionDocument,
  EnvironmentName,
  ProviderDocument,
} from '../core/definitions/documents/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { closest } from '../core/foundation/text/index.ts'
import type { FieldPath, Remark, RuleName } from './finding.ts'
import { listed } from './suggest.ts'
import { type Fields, fieldsOf } from './written.ts'

/** A connection or a credential, as far as it could be read. */
export interface KnownAccount {
  /** null: for every environment that has no document of its own. */
  readonly environment: string | null
  readonly provider: string | null
  /** For a credential; null: its provider's usual one. */
  readonly auth: AuthModel | null
}

export interface KnownIntegrations {
  /** null: it exists, and has an error of its own. */
  readonly providers: ReadonlyMap<string, ProviderDocument | null>
  /** By name; several if it has a document for each environment. */
  readonly connections: ReadonlyMap<string, readonly KnownAccount[]>
  readonly credentials: ReadonlyMap<string, readonly KnownAccount[]>
  /** Where all this will be deployed. */
  readonly environment: EnvironmentName
  /** False: only the files are known, as at the start of a node, which may have others from its API. */
  readonly isWhole: boolean
}

/** The environment of a node that sets none. */
export const USUAL_ENVIRONMENT: EnvironmentName = 'DEV'

export function knownIntegrations(
  values: readonly Fields[],
  given: readonly DefinitionDocument[] | undefined,
  /** null: it has an error of its own. */
  readProvider: (value: Fields) => ProviderDocument | null,
  environment: EnvironmentName = USUAL_ENVIRONMENT,
): KnownIntegrations {
  const deployedDocuments = given ?? []
  const beside = deployedDocuments as unknown as readonly Fields[]
  const providers = new Map<string, ProviderDocument | null>()
  for (const one of deployedDocuments) if (one.kind === 'Provider') providers.set(one.name, one)
  for (const value of values) {
    if (value.kind === 'Provider' && typeof value.name === 'string')
      providers.set(value.name, readProvider(value))
  }
  // Their names are reserved: nothing else replaces them.
  for (const one of BUILT_IN_PROVIDERS) providers.set(one.name, one)
  return {
    providers,
    connections: accountsOf('Connection', values, beside),
    credentials: accountsOf('Credential', values, beside),
    environment,
    isWhole: given !== undefined,
  }
}

function accountsOf(
  kind: 'Connection' | 'Credential',
  values: readonly Fields[],
  beside: readonly Fields[],
): ReadonlyMap<string, readonly KnownAccount[]> {
  const read = (documents: readonly Fields[]) => {
    const accounts = new Map<string, KnownAccount[]>()
    for (const { kind: of, name, provider, environment, auth } of documents) {
      if (of !== kind || typeof name !== 'string') continue
      const account = {
        environment: typeof environment === 'string' ? environment : null,
        provider: typeof provider === 'string' ? provider : null,
        auth: typeof auth === 'string' ? (auth as AuthModel) : null,
      }
      accounts.set(name, [...(accounts.get(name) ?? []), account])
    }
    return accounts
  }
  return new Map([...read(beside), ...read(values)])
}

/** The one that applies there; undefined: it is only for other environments. */
export function accountIn<Account extends { readonly environment: string | null }>(
  accounts: readonly Account[],
  environment: string,
): Account | undefined {
  const own = accounts.find((one) => one.environment === environment)
  return own ?? accounts.find((one) => one.environment === null)
}

// --- Names that are looked up

const KINDS = { provider: 'Provider', connection: 'Connection', credential: 'Credential' } as const
const RULE_OF = {
  provider: 'unknownProvider',
  connection: 'unknownConnection',
  credential: 'unknownCredential',
} as const satisfies Readonly<Record<string, RuleName>>

/**
 * Whether a provider, a connection or a credential that a field names exists. If only the files are known it may come
 * from the API; `isNeeded`: the files cannot be resolved without it.
 */
export function checkKnown(
  name: JsonValue | undefined,
  what: keyof typeof KINDS,
  integrations: KnownIntegrations,
  path: FieldPath,
  isNeeded = false,
): readonly Remark[] {
  const known = [...integrations[`${what}s`].keys()]
  if (typeof name !== 'string' || name === '' || name.includes('{{') || known.includes(name)) return []
  const otherwise =
    known.length === 0 ? `define it with \`kind: ${KINDS[what]}\`` : `but ${listed(known.slice(0, 12))}`
  const near = closest(name, known)
  const missing = `there is no ${what} \`${name}\``
  const isOpen = !integrations.isWhole && !isNeeded
  return [
    {
      rule: RULE_OF[what],
      message: isOpen
        ? `${missing} among the files, ${otherwise}; unless the node has it, nothing that needs it runs`
        : `${missing}, ${otherwise}`,
      ...(isOpen ? { severity: 'warning' as const } : {}),
      path,
      ...(near === undefined ? {} : { suggestedText: near }),
    },
  ]
}

/** For a call on a connection: that it exists, also in the environment where this will be deployed. */
export function checkConnectionName(
  name: JsonValue | undefined,
  path: FieldPath,
  integrations: KnownIntegrations,
): readonly Remark[] {
  const { connections, environment } = integrations
  const unknown = checkKnown(name, 'connection', integrations, path)
  const accounts = typeof name === 'string' ? connections.get(name) : undefined
  if (accounts === undefined || accountIn(accounts, environment) !== undefined) return unknown
  const others = accounts.map((one) => String(one.environment))
  const message = `the connection \`${name}\` is for ${listed(others)} alone, and here is \`${environment}\`: calls would be dead letters. Add a document for it, or one without \`environment\``
  return [{ rule: 'elsewhere', severity: 'warning', message, path }]
}

/** Whether a text in it is computed. */
export function hasTemplate(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value.includes('{{')
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((one) => hasTemplate(one as JsonValue))
}

/** Headers that authenticate the caller: a credential sets them. */
const CREDENTIAL_HEADERS =
  /^(?:authorization|proxy-authorization|cookie|x-api-key|x-auth-token|private-token)$/i

/** Only its credential authorizes a call through a connection. */
export function checkCredentialHeaders(headers: JsonValue | undefined, at: FieldPath): readonly Remark[] {
  return Object.keys(fieldsOf(headers)).flatMap((name): readonly Remark[] => {
    if (!CREDENTIAL_HEADERS.test(name)) return []
    const message = `\`${name.toLowerCase()}\` comes with the credential of the connection: leave it out, and keep the value in the vault`
    return [{ rule: 'secretInPlace', message, path: [...at, name], onKey: true }]
  })
}
