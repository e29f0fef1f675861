// Values that differ by environment: names that every template and every action may use as `vars.<name>`.

import * as z from 'zod'
import { ENVIRONMENTS, OWN_VARS, type VarsDocument } from '../../core/definitions/documents/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { findLiterals } from '../../core/secrets/index.ts'
import { field, json, optional, varName } from '../fields.ts'
import type { Remark } from '../finding.ts'
import { type Fields, fieldsOf } from '../written.ts'
import { type KindDeclaration, lazily } from './kind.ts'
import { envelope } from './parts.ts'

const values = () => z.record(varName(), field(json(), 'A text, a number, a boolean, a list or a map.'))

const schema = lazily(() =>
  z
    .strictObject({
      ...envelope('Vars'),
      values: optional(values(), 'By name, what holds where an environment has no value of its own.', 'none'),
      environments: optional(
        z.strictObject(
          Object.fromEntries(
            ENVIRONMENTS.map((name) => [name, optional(values(), `On nodes of ${name}.`, 'as in `values`')]),
          ) as { readonly [Name in (typeof ENVIRONMENTS)[number]]: z.ZodOptional<ReturnType<typeof values>> },
        ),
        'By environment, what differs there.',
        '`values` holds everywhere',
      ),
    })
    .meta({ title: 'Vars' }),
)

type VarsInput = z.infer<ReturnType<typeof schema>>

export const varsKind: KindDeclaration<VarsDocument, ReturnType<typeof schema>> = {
  schema,
  resolve: resolveVars,
  check: (value, around) => [
    ...namesWritten(value).flatMap(({ name, path }) => checkName(name, path)),
    ...checkComplete(value, around.environment),
    ...checkValues(value),
    ...checkClear(value),
  ],
  summary: 'Values that differ by environment.',
  template: `kind: Vars
name: NAME
values: { crm: https://crm.dev.example, batch: 25 }
environments:
  PROD: { crm: https://crm.example, batch: 50 }
`,
}

function resolveVars({ name, description, values: written, environments }: VarsInput): VarsDocument {
  return {
    kind: 'Vars',
    name,
    description: description ?? null,
    values: written ?? {},
    environments: environments ?? {},
  } as VarsDocument
}

/** Every name with the place of each value, valid or not. */
export function namesWritten({ values: written, environments }: Fields): readonly {
  readonly name: string
  readonly path: readonly string[]
}[] {
  const at = (value: JsonValue | undefined, path: readonly string[]) =>
    Object.keys(fieldsOf(value)).map((name) => ({ name, path: [...path, name] }))
  return [
    ...at(written, ['values']),
    ...Object.entries(fieldsOf(environments)).flatMap(([name, inner]) => at(inner, ['environments', name])),
  ]
}

function checkName(name: string, path: readonly string[]): readonly Remark[] {
  if (!(OWN_VARS as readonly string[]).includes(name)) return []
  const message = `\`vars.${name}\` is the node's own: give this another name`
  return [{ rule: 'name', message, path, onKey: true }]
}

/** A name without a default has a value in every environment that is named, and in that of the node. */
function checkComplete({ values: written, environments }: Fields, node: string): readonly Remark[] {
  const given = Object.fromEntries(
    ENVIRONMENTS.flatMap((name) => {
      const inner = fieldsOf(environments)[name]
      return inner === undefined ? [] : [[name, inner] as const]
    }),
  )
  const told = new Set(Object.keys(fieldsOf(written)))
  return namesWritten({ environments: given }).flatMap(({ name, path }): readonly Remark[] => {
    if (told.has(name)) return []
    told.add(name)
    const without = [...new Set([...Object.keys(given), node])].filter(
      (one) => !Object.hasOwn(fieldsOf(given[one]), name),
    )
    if (without.length === 0) return []
    const message = `\`${name}\` has no value in ${without.join(' and ')}: write one there, or a default in \`values\``
    return [{ rule: 'oneOf', message, path, onKey: true }]
  })
}

/** Each is a value that can be written out: a missing one would fail wherever it is read. */
function checkValues({ values: written, environments }: Fields): readonly Remark[] {
  const maps = [
    { path: ['values'], map: fieldsOf(written) },
    ...Object.entries(fieldsOf(environments)).map(([name, map]) => ({
      path: ['environments', name],
      map: fieldsOf(map),
    })),
  ]
  return maps.flatMap(({ path, map }) =>
    Object.entries(map).flatMap(([name, value]): readonly Remark[] => {
      const at = [...path, name]
      if (value === null)
        return [{ rule: 'type', message: `\`${name}\` is empty: write a value, or leave it out`, path: at }]
      if (typeof value !== 'string' || !value.includes('{{')) return []
      return [
        { rule: 'literal', message: 'a value is used as it is: no template is filled in here', path: at },
      ]
    }),
  )
}

function checkClear(value: Fields): readonly Remark[] {
  return findLiterals(value).map(({ path, offset, what }) => ({
    rule: 'literalCredential',
    message: `this is ${what}, and values are no secrets: put it into the vault, and write \`{{ secret('name') }}\` where it is sent`,
    path,
    offset,
  }))
}
