// A named call of a provider: its name, its connection and its input.

import { compileSchema } from '../../core/definitions/catalog/index.ts'
import {
  type OperationActionDocument,
  type OperationDocument,
  operationOf,
  type ProviderDocument,
} from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import type { Surroundings } from '../document-context.ts'
import { optional, reference } from '../fields.ts'
import { type FieldPath, missing, type Remark } from '../finding.ts'
import { accountIn, checkConnectionName, checkKnown, hasTemplate } from '../integrations.ts'
import { listed } from '../suggest.ts'
import { type Fields, fieldsOf, isMap, milliseconds } from '../written.ts'
import type { ActionDeclaration } from './action-kind.ts'

const operationField = () =>
  optional(
    reference(),
    'A named call of a provider, as `github.createIssue`; pinned as it is when this is applied.',
    'another action',
  )

export const operation: ActionDeclaration<OperationActionDocument, ReturnType<typeof operationField>> = {
  field: operationField,
  needed: ['connection'],
  optional: ['with', 'timeout', 'classify'],
  resolve(text, { connection, timeout, classify = {}, with: given }, { usual, known: { providers } }) {
    const { provider, name } = splitOperation(text)
    const known = providers.get(provider)
    const operation = known === undefined ? null : operationOf(known, name)
    if (operation === null || connection === undefined) return null
    return {
      type: 'operation',
      provider,
      operation,
      connection,
      with: (given ?? usual) as JsonValue,
      ...(timeout === undefined ? {} : { timeoutMs: milliseconds(timeout, operation.timeoutMs) }),
      classify,
    }
  },
  check: checkOperationAction,
  screen: { icon: 'Plug', does: 'calls an operation' },
}

/** `github.createWebhook`: the provider's name has no dot. */
function splitOperation(text: string): { readonly provider: string; readonly name: string } {
  const dot = text.indexOf('.')
  return dot < 0 ? { provider: '', name: text } : { provider: text.slice(0, dot), name: text.slice(dot + 1) }
}

function checkOperationAction(action: Fields, at: FieldPath, around: Surroundings): readonly Remark[] {
  const { operation, connection } = action
  if (operation === undefined) return []
  const remarks: Remark[] = [...checkConnectionName(connection, [...at, 'connection'], around.integrations)]
  if (connection === undefined) remarks.push(withoutConnection(operation, at, around))
  if (typeof operation !== 'string' || operation === '' || operation.includes('{{')) return remarks
  const path = [...at, 'operation']
  const { provider: name, name: called } = splitOperation(operation)
  const { providers } = around.integrations
  if (name === '' || called === '') {
    remarks.push({ rule: 'unknownOperation', path, ...spelling(operation, connection, around) })
    return remarks
  }
  const unknown = checkKnown(name, 'provider', around.integrations, path, true).map(withWhole(operation))
  if (unknown.length > 0) return [...remarks, ...unknown]
  remarks.push(...checkSameProvider(name, connection, at, around))
  const provider = providers.get(name) ?? null
  if (provider === null) return remarks
  const found = operationOf(provider, called)
  if (found === null) remarks.push(...unknownOperation(provider, called, path))
  else remarks.push(...checkUse(found, provider, action, at))
  return remarks
}

/** The suggestion is for the part before the dot. */
function withWhole(operation: string): (remark: Remark) => Remark {
  return (remark) =>
    remark.suggestedText === undefined
      ? remark
      : { ...remark, suggestedText: `${remark.suggestedText}.${splitOperation(operation).name}` }
}

/** If its provider has only one connection, that one is surely meant. */
function withoutConnection(operation: JsonValue, at: FieldPath, around: Surroundings): Remark {
  const { provider } = splitOperation(typeof operation === 'string' ? operation : '')
  const own = [...around.integrations.connections].flatMap(([name, accounts]) =>
    accounts.some((one) => one.provider === provider) ? [name] : [],
  )
  const message = '`connection` is missing: say by which account the operation is called'
  const suggestion = own.length === 1 ? { suggestion: `connection: ${own[0]}` } : {}
  return { ...missing([...at, 'connection']), message, ...suggestion }
}

function spelling(
  operation: string,
  connection: JsonValue | undefined,
  around: Surroundings,
): Pick<Remark, 'message' | 'suggestedText'> {
  const message = 'an operation is called with its provider: `github.createIssue`'
  const accounts =
    typeof connection === 'string' ? around.integrations.connections.get(connection) : undefined
  const provider =
    accounts === undefined ? null : accountIn(accounts, around.integrations.environment)?.provider
  return provider == null ? { message } : { message, suggestedText: `${provider}.${operation}` }
}

function checkSameProvider(
  provider: string,
  connection: JsonValue | undefined,
  at: FieldPath,
  { integrations: { connections, environment } }: Surroundings,
): readonly Remark[] {
  const accounts = typeof connection === 'string' ? connections.get(connection) : undefined
  const account = accounts === undefined ? undefined : accountIn(accounts, environment)
  if (account == null || account.provider === null || account.provider === provider) return []
  const message = `the connection \`${String(connection)}\` is one to \`${account.provider}\`, and the operation is of \`${provider}\``
  const own = [...connections].find(([, others]) => others.some((one) => one.provider === provider))?.[0]
  const suggestedText = own === undefined ? {} : { suggestedText: own }
  return [{ rule: 'otherProvider', message, path: [...at, 'connection'], ...suggestedText }]
}

function unknownOperation(provider: ProviderDocument, name: string, path: FieldPath): readonly Remark[] {
  const known = Object.keys(provider.operations)
  const near = closest(name, known)
  const otherwise = known.length === 0 ? 'and has none' : `but ${listed(known.slice(0, 12))}`
  return [
    {
      rule: 'unknownOperation',
      message: `\`${provider.name}\` has no operation \`${name}\`, ${otherwise}`,
      path,
      ...(near === undefined ? {} : { suggestedText: `${provider.name}.${near}` }),
    },
  ]
}

function checkUse(
  operation: OperationDocument,
  provider: ProviderDocument,
  action: Fields,
  at: FieldPath,
): readonly Remark[] {
  const remarks: Remark[] = [...checkInput(operation, provider, action.with, [...at, 'with'])]
  const deprecated = operation.deprecated ?? provider.deprecated
  if (deprecated !== null) {
    const what = operation.deprecated === null ? `the provider \`${provider.name}\`` : `\`${operation.name}\``
    const message = `${what} is deprecated: ${deprecated}`
    remarks.push({ rule: 'deprecated', severity: 'warning', message, path: [...at, 'operation'] })
  }
  return remarks
}

/** As far as it is a literal: the result of a template is not known before it runs. */
function checkInput(
  { name, input }: OperationDocument,
  provider: ProviderDocument,
  given: JsonValue | undefined,
  at: FieldPath,
): readonly Remark[] {
  const schema = fieldsOf(input)
  if (given === undefined || hasTemplate(typeof given === 'string' ? given : null)) return []
  const called = `\`${provider.name}.${name}\``
  if (!isMap(given)) return checkWhole(input, given, called, at)
  const { required, additionalProperties } = schema
  const properties = fieldsOf(schema.properties)
  const known = Object.keys(properties)
  const needed = (Array.isArray(required) ? required : []).filter((one: JsonValue) => typeof one === 'string')
  const lacking = needed.filter((one: JsonValue) => !Object.hasOwn(fieldsOf(given), String(one))).map(String)
  const remarks: Remark[] = []
  if (lacking.length > 0) {
    const message = `${called} needs ${listed(lacking)}, and \`with\` does not give ${lacking.length === 1 ? 'it' : 'them'}`
    remarks.push({ rule: 'operationInput', message, path: at, onKey: true })
  }
  for (const [field, value] of Object.entries(fieldsOf(given))) {
    if (!Object.hasOwn(properties, field)) {
      if (additionalProperties !== false) continue
      const near = closest(field, known)
      const message = `${called} takes no \`${field}\`, but ${listed(known)}`
      const suggestion = near === undefined ? {} : { suggestion: near }
      remarks.push({ rule: 'operationInput', message, path: [...at, field], onKey: true, ...suggestion })
    } else if (!hasTemplate(value)) {
      // References resolve in the whole schema, which is not read here.
      const part = properties[field] ?? null
      const isWhole = !JSON.stringify(part).includes('"$ref"')
      if (isWhole) remarks.push(...checkWhole(part, value, called, [...at, field]))
    }
  }
  return remarks
}

function checkWhole(schema: JsonValue, value: JsonValue, called: string, path: FieldPath): readonly Remark[] {
  const compiled = schema === null ? null : compileSchema(schema)
  const mismatch = compiled?.ok === true ? compiled.check(value) : null
  if (mismatch === null) return []
  const where = mismatch.path.replace(/^payload\.?/, '')
  const message = `${called} does not take this: ${where === '' ? 'it' : `\`${where}\``} ${mismatch.problem}`
  return [{ rule: 'operationInput', message, path }]
}
