// Checks users, versions and security of a workflow.

import { isPermissionName } from '../../core/access/callers/index.ts'
import { compilePath } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import { checkJsonSchema } from '../catalog.ts'
import type { Surroundings } from '../document-context.ts'
import type { FieldPath, Remark } from '../finding.ts'
import { type Fields, fieldsOf } from '../written.ts'
import { checkNames, targetPath, USUAL_VERSION } from './workflow-names.ts'
import { checkDataPath } from './workflow-reads.ts'

const OF_HANDS = ['permission', 'input', 'notBy']

export function checkHands(transition: Fields, at: FieldPath, workflow: Fields): readonly Remark[] {
  const { on = 'auto', permission, input } = transition
  const lonely =
    on === 'auto' && !isFired(String(at.at(-1)), workflow)
      ? OF_HANDS.filter((field) => Object.hasOwn(transition, field))
      : []
  return [
    ...lonely.map(
      (field): Remark => ({
        rule: 'hands',
        message: `\`${field}\` is about people, and this fires by itself: write \`on: manual\`, or leave it out`,
        path: [...at, field],
        onKey: true,
        suggestion: 'on: manual',
      }),
    ),
    ...checkPermission(permission, [...at, 'permission'], workflow),
    ...checkInput(input, [...at, 'input']),
  ]
}

/** Whether a trigger or a timeout names it. */
function isFired(name: string, workflow: Fields): boolean {
  const triggers = Array.isArray(workflow.triggers) ? workflow.triggers : []
  return (
    triggers.some((one: JsonValue) => fieldsOf(one).fire === name) ||
    Object.values(fieldsOf(workflow.places)).some((place) => fieldsOf(fieldsOf(place).timeout).fire === name)
  )
}

export function checkInput(input: JsonValue | undefined, at: FieldPath): readonly Remark[] {
  return checkJsonSchema(input, at)
}

export function checkPermission(
  permission: JsonValue | undefined,
  at: FieldPath,
  { security }: Fields,
): readonly Remark[] {
  if (typeof permission !== 'string' || permission === '' || permission.includes('{{')) return []
  const { permissions } = fieldsOf(security)
  const known = Array.isArray(permissions) ? permissions.filter((one) => typeof one === 'string') : []
  if (known.includes(permission)) return []
  const near = closest(permission, known)
  const message = `\`${permission}\` is not among \`security.permissions\` of this workflow: add it there, so that it can be granted to keys`
  return [
    {
      rule: 'permission',
      message,
      path: at,
      ...(near === undefined
        ? { suggestion: `security: { permissions: [${[...known, permission].join(', ')}] }` }
        : { suggestedText: near }),
    },
  ]
}

export function checkSecurity(workflow: Fields): readonly Remark[] {
  const { permissions, required, encrypt } = fieldsOf(workflow.security)
  const list = (value: JsonValue | undefined) => (Array.isArray(value) ? value : []) as readonly JsonValue[]
  return [
    ...list(permissions).flatMap((name, index): readonly Remark[] => {
      if (typeof name !== 'string' || name === '' || name.includes('{{') || isPermissionName(name)) return []
      const message = 'a permission has letters, digits and `_ . : -`, as in `triage.approve`'
      return [{ rule: 'permission', message, path: ['security', 'permissions', index] }]
    }),
    ...list(required).flatMap((name, index) =>
      checkPermission(name, ['security', 'required', index], workflow),
    ),
    ...list(encrypt).flatMap((path, index) => checkEncrypt(path, ['security', 'encrypt', index], workflow)),
  ]
}

/** `*` is every element of a list, or every member. */
function checkEncrypt(path: JsonValue, at: FieldPath, workflow: Fields): readonly Remark[] {
  if (typeof path !== 'string' || path === '' || path.includes('{{')) return []
  const written = targetPath(path)
  const compiled = compilePath(written)
  if (compiled.ok && /^(?:data|metadata)[.[]/.test(written)) return checkDataPath(path, at, workflow)
  const message = compiled.ok
    ? 'what is sealed is in `data` or `metadata`: a path such as `data.email`'
    : compiled.problem.message
  return [{ rule: 'encrypt', message, path: at }]
}

export function checkMigrations(
  workflow: Fields,
  { functions }: Pick<Surroundings, 'functions'>,
): readonly Remark[] {
  const { migrations, version = USUAL_VERSION } = workflow
  if (!Array.isArray(migrations)) return []
  return migrations.flatMap((one: JsonValue, index: number): readonly Remark[] => {
    const { from, to, places, data } = fieldsOf(one)
    const at: FieldPath = ['migrations', index]
    const remarks: Remark[] = []
    if (typeof from === 'string' && from === to) {
      const message = `\`from\` and \`to\` are both ${from}: there is nothing to migrate`
      remarks.push({ rule: 'version', message, path: [...at, 'to'] })
    }
    const isUsed = to === version || migrations.some((other: JsonValue) => fieldsOf(other).from === to)
    if (typeof to === 'string' && from !== to && !isUsed) {
      const message = `this leads to ${to}, and the workflow is version ${String(version)}: write that, or one more migration from ${to}`
      remarks.push({ rule: 'version', message, path: [...at, 'to'], suggestion: String(version) })
    }
    const earlier = migrations.findIndex(
      (other: JsonValue) => fieldsOf(other).from === from && fieldsOf(other).to === to,
    )
    if (earlier < index && typeof from === 'string') {
      const message = `there is a migration from ${from} to ${String(to)} already: keep one`
      remarks.push({ rule: 'version', message, path: [...at, 'from'] })
    }
    for (const [rule, { transform }] of (Array.isArray(data) ? data.map(fieldsOf) : []).entries()) {
      if (typeof transform !== 'string' || transform.includes('{{') || functions(transform) !== null) continue
      const message = `there is no function \`${transform}\`: export it from a file of the folder, or correct the name`
      remarks.push({ rule: 'function', message, path: [...at, 'data', rule, 'transform'] })
    }
    // Migrations of older versions led to places that are gone by now.
    if (to !== version) return remarks
    const named = Object.entries(fieldsOf(places)).flatMap(([old, name]) =>
      checkNames(name, [...at, 'places', old], 'place', workflow),
    )
    return [...remarks, ...named]
  })
}
