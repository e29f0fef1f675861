// Checks inline auth: one method, a secret that may be named here, and no other field that says the same.

import type { JsonValue } from '../core/foundation/json/index.ts'
import type { Surroundings } from './document-context.ts'
import type { FieldPath, Remark } from './finding.ts'
import { checkSecrets } from './secrets.ts'
import { listed } from './suggest.ts'
import { type Fields, fieldsOf, isMap } from './written.ts'

const WAYS = ['bearer', 'basic', 'header']

/** For what has `auth`, `connection` and `headers` at `at`; `until`: what happens while the secret is not set. */
export function checkAuth(
  { auth, connection, headers }: Fields,
  around: Surroundings,
  at: FieldPath,
  until: string,
): readonly Remark[] {
  if (!isMap(auth)) return []
  const path = [...at, 'auth']
  const ways = WAYS.filter((way) => Object.hasOwn(fieldsOf(auth), way))
  if (ways.length !== 1) {
    const message =
      ways.length === 0
        ? '`auth` is one of `{ bearer: { ref: name } }`, `{ basic: { user: name, password: { ref: name } } }` and `{ header: { name: x-api-key, value: { ref: name } } }`'
        : `\`auth\` is one way in: keep one of ${listed(ways)}`
    return [
      { rule: 'oneOf', message, path: ways.length === 0 ? path : [...path, String(ways[1])], onKey: true },
    ]
  }
  const { bearer, basic, header } = fieldsOf(auth)
  const [secret, ...steps] =
    bearer !== undefined
      ? [bearer, 'bearer']
      : basic !== undefined
        ? [fieldsOf(basic).password, 'basic', 'password']
        : [fieldsOf(header).value, 'header', 'value']
  return [
    ...checkSecrets(secret, around, [...path, ...(steps as string[])], until),
    ...(connection === undefined ? [] : [besideConnection(path)]),
    ...checkSameHeader(fieldsOf(header).name, headers, at),
  ]
}

function besideConnection(path: FieldPath): Remark {
  const message = 'the connection brings its credential: leave `auth` out, or `connection`'
  return { rule: 'together', message, path, onKey: true }
}

function checkSameHeader(
  name: JsonValue | undefined,
  headers: JsonValue | undefined,
  at: FieldPath,
): readonly Remark[] {
  const set = typeof name === 'string' ? name.toLowerCase() : 'authorization'
  const same = Object.keys(fieldsOf(headers)).find((one) => one.toLowerCase() === set)
  if (same === undefined) return []
  const message = `\`auth\` sets the header \`${set}\`: leave it out here`
  return [{ rule: 'together', message, path: [...at, 'headers', same], onKey: true }]
}

/**
 * A probe uses the `auth` of its action: for another host it needs its own, so that no secret goes to the wrong host.
 */
export function checkProbeHost(http: Fields, at: FieldPath): readonly Remark[] {
  const probe = fieldsOf(http.probe)
  if (!isMap(http.auth) || isMap(probe.auth)) return []
  const [own, asked] = [originOf(http.url), originOf(probe.url)]
  if (own === null || asked === null || own === asked) return []
  const message = `the probe goes to another host than the action, and would take its \`auth\` there: give the probe an \`auth\` of its own`
  return [{ rule: 'together', message, path: [...at, 'probe', 'url'] }]
}

/** null: it is not a literal. */
function originOf(url: JsonValue | undefined): string | null {
  const match = typeof url === 'string' ? /^https?:\/\/[^/?#{]+(?=[/?#]|$)/i.exec(url) : null
  return match === null ? null : match[0].toLowerCase()
}
