// Encrypts the fields that a workflow declares: they are encrypted in the row of an instance and in its history, and
// decrypted for the code that works with it. Results of steps and inputs of users may hold the same values under other
// names: a workflow that encrypts anything encrypts these as a whole.
//
// Invariant: FI14 nothing of a field to be encrypted reaches the store in clear text.

import type { WorkflowDocument } from '../../../core/definitions/documents/index.ts'
import { isEncrypted } from '../../../core/events/sensitive/index.ts'
import type { InstanceId, TenantId } from '../../../core/foundation/ids/index.ts'
import { isNumeral, type JsonValue, parseJson, stringifyJson } from '../../../core/foundation/json/index.ts'
import type {
  Data,
  DataChange,
  Firing,
  HistoryEntry,
  Instance,
} from '../../../core/workflows/instance/index.ts'
import { type Encryption, EncryptionError } from '../../../ports/encryption.ts'

type Change = (value: JsonValue, path: string) => JsonValue

const NONE: readonly string[] = []

/** What is encrypted of its instances. A document lists all values itself where its classification requires it. */
export function encryptedPaths({ security }: Pick<WorkflowDocument, 'security'>): readonly string[] {
  return security?.encrypt ?? NONE
}

/** Documents before language 4 may name `data`, too: nodes of their version read it as one text. */
function encryptsMembers({ security }: Pick<WorkflowDocument, 'security'>): boolean {
  return security?.enforced === true
}

export function encryptInstance(
  encryption: Encryption,
  tenant: TenantId,
  document: Pick<WorkflowDocument, 'security'>,
  instance: Instance,
): Instance {
  const paths = encryptedPaths(document)
  return paths.length === 0
    ? instance
    : changed(instance, paths, encryptsMembers(document), closing(encryption, tenant, instance.id))
}

/** Throws EncryptionError. */
export function openInstance(
  encryption: Encryption,
  tenant: TenantId,
  document: Pick<WorkflowDocument, 'security'>,
  instance: Instance,
): Instance {
  const paths = encryptedPaths(document)
  return paths.length === 0
    ? instance
    : changed(instance, paths, encryptsMembers(document), opening(encryption, tenant, instance.id))
}

export function encryptHistory(
  encryption: Encryption,
  tenant: TenantId,
  document: Pick<WorkflowDocument, 'security'>,
  id: InstanceId,
  entry: HistoryEntry,
): HistoryEntry {
  const paths = encryptedPaths(document)
  if (paths.length === 0) return entry
  const close = closing(encryption, tenant, id)
  return changedEntry(entry, close, ({ path }) => paths.some((one) => touches(one, path)))
}

/** Decrypted; what cannot be decrypted stays as it is, because other fields may have been encrypted then. */
export function openHistory(
  encryption: Encryption,
  tenant: TenantId,
  id: InstanceId,
  entry: HistoryEntry,
): HistoryEntry {
  return changedEntry(entry, leniently(opening(encryption, tenant, id)), () => true)
}

function leniently(open: Change): Change {
  return (value, path) => {
    try {
      return open(value, path)
    } catch (error) {
      if (error instanceof EncryptionError) return value
      throw error
    }
  }
}

function closing(encryption: Encryption, tenant: TenantId, id: InstanceId): Change {
  return (value, path) =>
    value === null
      ? null
      : encryption.encrypt({ tenant, row: id, part: 'data' }, stringifyJson(value), [path])
}

function opening(encryption: Encryption, tenant: TenantId, id: InstanceId): Change {
  return (value) =>
    typeof value === 'string' && isEncrypted(value)
      ? parseJson(encryption.open({ tenant, row: id, part: 'data' }, value).text)
      : value
}

function changed(instance: Instance, paths: readonly string[], byMember: boolean, change: Change): Instance {
  let { data, metadata } = instance
  for (const path of paths) {
    const [root, ...names] = path.split('.')
    if (root === 'data') data = changedIn(data, names, path, byMember, change)
    else if (root === 'metadata') metadata = changedIn(metadata, names, path, byMember, change)
  }
  return {
    ...instance,
    data,
    metadata,
    done: instance.done.map((step) => ({ ...step, result: change(step.result, 'result') })),
    firings: instance.firings.map((firing) => changedFiring(firing, change)),
  }
}

function changedFiring(firing: Firing, change: Change): Firing {
  const { input, did } = firing
  if (input === undefined && did === undefined) return firing
  return {
    ...firing,
    ...(input === undefined ? {} : { input: change(input, 'input') }),
    ...(did === undefined ? {} : { did: { ...did, result: change(did.result, 'result') } }),
  }
}

/** Without names all of it: each member by itself, so that what holds them stays a map, or as one text. */
function changedIn(
  whole: Data,
  names: readonly string[],
  path: string,
  byMember: boolean,
  change: Change,
): Data {
  if (names.length > 0 || !byMember) return changedAt(whole, names, path, change) as Data
  return Object.fromEntries(
    Object.entries(whole).map(([name, value]) => [name, change(value, `${path}.${name}`)]),
  )
}

function changedAt(value: JsonValue, names: readonly string[], path: string, change: Change): JsonValue {
  const [name, ...rest] = names
  if (name === undefined) return change(value, path)
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isNumeral(value)) return value
  const object = value as { readonly [name: string]: JsonValue }
  if (!Object.hasOwn(object, name)) return value
  return { ...object, [name]: changedAt(object[name] as JsonValue, rest, path, change) }
}

function changedEntry(
  entry: HistoryEntry,
  change: Change,
  concerns: (change: DataChange) => boolean,
): HistoryEntry {
  const { result, input, changes } = entry
  return {
    ...entry,
    ...(result === undefined ? {} : { result: change(result, 'result') }),
    ...(input === undefined ? {} : { input: change(input, 'input') }),
    ...(changes === undefined
      ? {}
      : {
          changes: changes.map((one) => {
            if (one.hidden === true || !concerns(one)) return one
            const { path, before, after } = one
            return {
              path,
              ...(before === undefined ? {} : { before: change(before, path) }),
              ...(after === undefined ? {} : { after: change(after, path) }),
            }
          }),
        }),
  }
}

/** Whether one path is the other, or leads through it. */
function touches(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`)
}
