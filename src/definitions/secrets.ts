// Checks where a secret is stored: one location, that may be named here, and whether it is set by now.

import type { JsonValue } from '../core/foundation/json/index.ts'
import { isSecretName, namedSecrets } from '../core/secrets/index.ts'
import type { Surroundings } from './document-context.ts'
import type { FieldPath, Remark } from './finding.ts'
import { type Fields, fieldsOf } from './written.ts'

/** At `at`: of a sender's verification, or of a system that is called. */
export function checkSecrets(
  secret: JsonValue | undefined,
  around: Surroundings,
  at: FieldPath,
  until: string,
): readonly Remark[] {
  const isList = Array.isArray(secret)
  const secrets: readonly JsonValue[] = isList ? secret : secret === undefined ? [] : [secret]
  return secrets.flatMap((one, index) => {
    const path = [...at, ...(isList ? [index] : [])]
    const count = ['env', 'ref', 'file'].filter((name) => Object.hasOwn(fieldsOf(one), name)).length
    if (typeof one !== 'object' || one === null || Array.isArray(one)) return []
    if (Object.hasOwn(fieldsOf(one), 'env') && !around.hasEnvironment) {
      const message =
        'environment variables belong to the tenant `default`: write `{ ref: name }` and set the secret'
      return [{ rule: 'environment', message, path: [...path, 'env'], onKey: true }] as const
    }
    if (Object.hasOwn(fieldsOf(one), 'file') && !around.hasEnvironment) {
      const message =
        'files of secrets belong to the tenant `default`: write `{ ref: name }` and set the secret'
      return [{ rule: 'environment', message, path: [...path, 'file'], onKey: true }] as const
    }
    const { env } = fieldsOf(one)
    if (count === 1 && typeof env === 'string' && !around.isEnvReadable(env)) {
      const message = `the node does not let definitions read the environment variable \`${env}\`: name it in MILLRACE_SECRET_ENV, or write \`{ ref: name }\` and set the secret`
      return [{ rule: 'envName', message, path: [...path, 'env'] }] as const
    }
    if (count === 1) {
      const { ref } = fieldsOf(one)
      return [...checkSet(ref, path, around, until), ...checkVariable(env, path, around, until)]
    }
    const message =
      'a secret is `{ env: NAME }`, an environment variable, `{ ref: name }`, a vault entry, or `{ file: name }`, a file of the folder of secrets'
    return [{ rule: 'oneOf', message, path }] as const
  })
}

/** Not an error either: it may be set where the node runs. */
function checkVariable(
  name: JsonValue | undefined,
  path: FieldPath,
  around: Surroundings,
  until: string,
): readonly Remark[] {
  if (typeof name !== 'string' || name === '' || name.includes('{{') || around.hasVariable(name)) return []
  const message = `the environment variable \`${name}\` is not set: until it is, ${until}; set it where the node is started`
  return [{ rule: 'secretNotSet', severity: 'warning', message, path: [...path, 'env'] }]
}

/** Secrets of the vault that are named in what is sent: `{{ secret('name') }}`. */
export function checkSentSecrets(value: Fields, around: Surroundings): readonly Remark[] {
  return namedSecrets(value).flatMap((one): readonly Remark[] => {
    if (!('ref' in one) || one.offset === undefined || around.secrets(one.ref)) return []
    const message = `the secret \`${one.ref}\` is not set: until it is, every call with it fails; set it with \`millrace secrets set ${one.ref}\``
    return [{ rule: 'secretNotSet', severity: 'warning', message, path: one.path, offset: one.offset }]
  })
}

/** Not an error: the definition may come first and the secret after it. */
function checkSet(
  name: JsonValue | undefined,
  path: FieldPath,
  around: Surroundings,
  until: string,
): readonly Remark[] {
  if (typeof name !== 'string' || !isSecretName(name) || around.secrets(name)) return []
  const message = `the secret \`${name}\` is not set: until it is, ${until}; set it with \`millrace secrets set ${name}\``
  return [{ rule: 'secretNotSet', severity: 'warning', message, path: [...path, 'ref'] }]
}
