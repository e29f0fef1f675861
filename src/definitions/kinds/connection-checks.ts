// Checks connections and credentials beyond their single fields: that they fit their provider and each other. Reads
// them as written, valid or not.

import { compileSchema } from '../../core/definitions/catalog/index.ts'
import type { AuthModel, ProviderDocument } from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import { checkVendorAddress } from '../addresses.ts'
import type { Surroundings } from '../document-context.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { accountIn, checkKnown, hasTemplate } from '../integrations.ts'
import { checkSecrets } from '../secrets.ts'
import { listed } from '../suggest.ts'
import { type Fields, fieldsOf, isMap } from '../written.ts'

export function checkConnection(connection: Fields, around: Surroundings): readonly Remark[] {
  const { name, config, probe } = connection
  const provider = providerOf(connection.provider, around)
  const remarks: Remark[] = [
    ...checkProviderName(connection.provider, around),
    ...checkCredentialOf(connection, around),
    ...checkSecretLike(config, ['config']),
    ...Object.entries(fieldsOf(connection.endpoints)).flatMap(([one, address]) =>
      checkVendorAddress(address, ['endpoints', one], connection.credential !== undefined, around),
    ),
  ]
  if (provider === null) return remarks
  const { endpoints, buckets } = provider
  remarks.push(
    ...checkParts(connection.endpoints, 'endpoints', ['default', ...Object.keys(endpoints)], provider.name),
    ...checkParts(connection.buckets, 'buckets', ['default', ...Object.keys(buckets)], provider.name),
    ...checkConfig(config, provider),
  )
  if (isMap(probe) && provider.probe === null) {
    const message = `the provider \`${provider.name}\` has no \`probe\`, so that \`${String(name)}\` is not probed: add one there, or write \`probe: none\``
    remarks.push({ rule: 'probe', severity: 'warning', message, path: ['probe'], onKey: true })
  }
  return remarks
}

export function checkCredential(credential: Fields, around: Surroundings): readonly Remark[] {
  const { secret, auth } = credential
  const provider = providerOf(credential.provider, around)
  const model = typeof auth === 'string' ? (auth as AuthModel) : (provider?.auth[0] ?? null)
  return [
    ...checkProviderName(credential.provider, around, auth === undefined),
    ...checkModel(auth, provider),
    ...checkSecrets(secret, around, ['secret'], 'every call with it fails'),
    ...(model === null ? [] : checkFieldsOf(model, credential, provider)),
    ...checkRotation(credential),
  ]
}

// --- The provider

function providerOf(name: JsonValue | undefined, { integrations }: Surroundings): ProviderDocument | null {
  return (typeof name === 'string' ? integrations.providers.get(name) : null) ?? null
}

function isProvider(name: JsonValue | undefined, { integrations }: Surroundings): boolean {
  return typeof name === 'string' && integrations.providers.has(name)
}

/** `isNeeded`: the provider supplies what is not written here. */
function checkProviderName(
  name: JsonValue | undefined,
  around: Surroundings,
  isNeeded = false,
): readonly Remark[] {
  const deprecated = providerOf(name, around)?.deprecated ?? null
  if (deprecated === null) return checkKnown(name, 'provider', around.integrations, ['provider'], isNeeded)
  const message = `the provider \`${String(name)}\` is deprecated: ${deprecated}`
  return [{ rule: 'deprecated', severity: 'warning', message, path: ['provider'] }]
}

/** Addresses and buckets that replace the provider's. */
function checkParts(
  parts: JsonValue | undefined,
  field: 'endpoints' | 'buckets',
  known: readonly string[],
  provider: string,
): readonly Remark[] {
  return Object.keys(fieldsOf(parts)).flatMap((name): readonly Remark[] => {
    if (known.includes(name)) return []
    const near = closest(name, known)
    const message = `\`${provider}\` has no \`${name}\` among its \`${field}\`, but ${listed(known)}`
    const suggestion = near === undefined ? {} : { suggestion: near }
    return [{ rule: 'unknownPart', message, path: [field, name], onKey: true, ...suggestion }]
  })
}

// --- Its configuration

function checkConfig(config: JsonValue | undefined, provider: ProviderDocument): readonly Remark[] {
  if (provider.config === null) return []
  const given = config ?? {}
  const path = config === undefined ? [] : ['config']
  // The result of a template is checked when the connection is tested.
  if (hasTemplate(given)) return checkGiven(provider.config, given, path)
  const compiled = compileSchema(provider.config)
  const mismatch = compiled.ok ? compiled.check(given) : null
  if (mismatch === null) return []
  const where = mismatch.path.replace(/^payload/, 'config')
  const message = `the configuration does not fit \`${provider.name}\`: \`${where}\` ${mismatch.problem}`
  return [{ rule: 'connectionConfig', message, path: ['config'] }]
}

function checkGiven(schema: JsonValue, given: JsonValue, path: FieldPath): readonly Remark[] {
  const { required } = fieldsOf(schema)
  const missing = (Array.isArray(required) ? required : []).filter(
    (name: JsonValue) => typeof name === 'string' && !Object.hasOwn(fieldsOf(given), name),
  )
  if (missing.length === 0) return []
  const message = `the configuration lacks ${listed(missing.map(String))}`
  return [{ rule: 'connectionConfig', message, path }]
}

const SECRET_LIKE = /(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|credential)s?$/i

/** Many people can read definitions. */
function checkSecretLike(value: JsonValue | undefined, at: FieldPath): readonly Remark[] {
  return Object.entries(fieldsOf(value)).flatMap(([name, one]): readonly Remark[] => {
    if (isMap(one)) return checkSecretLike(one, [...at, name])
    if (typeof one !== 'string' || one === '' || one.includes('{{') || !SECRET_LIKE.test(name)) return []
    const message = `\`${name}\` looks like a secret, and definitions are read by many: put it into the vault and name it in a \`kind: Credential\``
    return [{ rule: 'secretInPlace', severity: 'warning', message, path: [...at, name] }]
  })
}

// --- The credential of a connection

function checkCredentialOf(connection: Fields, around: Surroundings): readonly Remark[] {
  const { credential, environment } = connection
  const { credentials, environment: here } = around.integrations
  const provider = providerOf(connection.provider, around)
  if (credential === undefined) {
    if (provider === null || provider.auth.includes('none')) return []
    const message = `\`${provider.name}\` wants to know who calls (${listed(provider.auth)}): write \`credential\`, the name of a \`kind: Credential\``
    return [{ rule: 'needsCredential', message, path: ['credential'] }]
  }
  if (provider?.auth.every((one) => one === 'none')) {
    const message = `\`${provider.name}\` takes no credential: leave it out`
    return [{ rule: 'needsCredential', message, path: ['credential'], onKey: true }]
  }
  const unknown = checkKnown(credential, 'credential', around.integrations, ['credential'])
  const accounts = typeof credential === 'string' ? credentials.get(credential) : undefined
  if (accounts === undefined) return unknown
  const wanted = typeof environment === 'string' ? environment : here
  const account = accountIn(accounts, wanted)
  if (account === undefined) {
    const message = `the credential \`${String(credential)}\` has no document for \`${wanted}\`, but for ${listed(accounts.map((one) => String(one.environment)))}`
    return [{ rule: 'elsewhere', severity: 'warning', message, path: ['credential'] }]
  }
  // A misspelt provider is reported once.
  if (!isProvider(connection.provider, around)) return []
  if (account.provider === null || account.provider === connection.provider) return []
  const message = `the credential \`${String(credential)}\` is of \`${account.provider}\`, and the connection of \`${String(connection.provider)}\`: it would be sent to a stranger`
  return [{ rule: 'otherProvider', message, path: ['credential'] }]
}

// --- Models

function checkModel(auth: JsonValue | undefined, provider: ProviderDocument | null): readonly Remark[] {
  if (provider === null) return []
  const models: readonly AuthModel[] = provider.auth.filter((one) => one !== 'none')
  if (models.length === 0) {
    const message = `\`${provider.name}\` takes no credential`
    return [{ rule: 'authModel', message, path: ['provider'] }]
  }
  if (typeof auth !== 'string' || models.includes(auth as AuthModel)) return []
  const near = closest(auth, models)
  return [
    {
      rule: 'authModel',
      message: `\`${provider.name}\` does not know \`${auth}\`, but ${listed(models)}`,
      path: ['auth'],
      ...(near === undefined ? {} : { suggestedText: near }),
    },
  ]
}

/** Fields of one auth model each; the first is required. */
const OF_MODELS: Readonly<Record<string, { readonly model: AuthModel; readonly isNeeded: boolean }>> = {
  username: { model: 'basic', isNeeded: true },
  oauth2: { model: 'oauth2', isNeeded: true },
  githubApp: { model: 'githubApp', isNeeded: true },
  serviceAccount: { model: 'serviceAccount', isNeeded: false },
  hmac: { model: 'hmac', isNeeded: false },
}

const EXAMPLES: Readonly<Record<string, string>> = {
  username: 'username: my-user',
  oauth2: 'oauth2: { clientId: my-client }',
  githubApp: 'githubApp: { appId: "12345", installationId: "67890" }',
}

function checkFieldsOf(
  model: AuthModel,
  credential: Fields,
  provider: ProviderDocument | null,
): readonly Remark[] {
  const remarks: Remark[] = []
  for (const [field, { model: owner, isNeeded }] of Object.entries(OF_MODELS)) {
    const isGiven = credential[field] !== undefined
    if (isGiven && owner !== model) {
      const message = `\`${field}\` belongs to \`auth: ${owner}\`, not to \`${model}\``
      remarks.push({ rule: 'authModel', message, path: [field], onKey: true })
    }
    if (!isGiven && isNeeded && owner === model) {
      const message = `\`auth: ${model}\` needs \`${field}\``
      const suggestion = EXAMPLES[field] ?? field
      remarks.push({ rule: 'authModel', message, path: [field], suggestion })
    }
  }
  const { grant } = fieldsOf(credential.oauth2)
  if (grant === 'authorizationCode' && provider?.oauth2 != null && provider.oauth2.authorizeUrl === null) {
    const message = `\`${provider.name}\` does not say where people allow it: it needs \`oauth2.authorizeUrl\`, or this \`grant: clientCredentials\``
    remarks.push({ rule: 'authModel', message, path: ['oauth2', 'grant'] })
  }
  return remarks
}

/** Only the vault stores new versions. */
function checkRotation({ secret, rotation }: Fields): readonly Remark[] {
  const { every } = fieldsOf(rotation)
  const { env, file } = fieldsOf(secret)
  if (every === undefined || (env === undefined && file === undefined)) return []
  const message = `what is in ${env === undefined ? 'a file' : 'the environment'} cannot be rotated from here: write \`secret: { ref: name }\`, a vault entry, or leave \`every\` out`
  return [{ rule: 'authModel', message, path: ['rotation', 'every'], onKey: true }]
}
