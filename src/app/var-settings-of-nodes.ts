// Compares the settings of `vars` (`MILLRACE_VAR_…`) of the nodes that share a database: jobs run on any of them, and would differ by
// the node that runs them. Each node stores hashes of its own while it runs, and reads those of the others.

import { VAR_SETTING, type VarSettings } from '../core/definitions/documents/index.ts'
import { messageOf } from '../core/foundation/errors/index.ts'
import { hashText } from '../core/foundation/hash/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'

const PREFIX = 'vars-of:'
const REFRESH_MS = 600_000
/** A node that ended without taking its record away. */
const STALE_MS = 3 * REFRESH_MS
const NODES_MAX = 500

/** By the name in capitals: the hash of its text. */
interface Published {
  readonly at: number
  readonly settings: Readonly<Record<string, string>>
}

export interface VarSettingsOfNodes {
  /** By name of a setting in capitals, without its prefix: the other nodes whose value differs. */
  differing(): Promise<ReadonlyMap<string, readonly string[]>>
  close(): Promise<void>
}

export async function shareVarSettings(
  deps: { readonly store: Store; readonly clock: Clock; readonly log: Log },
  node: string,
  settings: VarSettings,
): Promise<VarSettingsOfNodes> {
  const { store, clock, log } = deps
  const own = Object.fromEntries(
    Object.entries(settings).map(([name, text]) => [name.toUpperCase(), hashText(text)]),
  )
  const key = `${PREFIX}${node}`
  let told = ''
  let cancel = () => {}
  let isClosed = false

  const differing = async () => {
    const { items } = await store
      .forTenant(DEFAULT_TENANT)
      .records({ kind: 'setting', prefix: PREFIX, cursor: null, limit: NODES_MAX })
    const found = new Map<string, string[]>()
    for (const one of items) {
      const other = one.key.slice(PREFIX.length)
      const { at, settings: theirs } = JSON.parse(one.body) as Published
      if (other === node || clock.now() - at > STALE_MS) continue
      for (const name of new Set([...Object.keys(own), ...Object.keys(theirs)]))
        if (own[name] !== theirs[name]) found.set(name, [...(found.get(name) ?? []), other])
    }
    return found
  }
  const publish = async () => {
    const body = JSON.stringify({ at: clock.now(), settings: own } satisfies Published)
    await store.commit({
      tenant: DEFAULT_TENANT,
      guards: [],
      writes: [{ w: 'record.put', kind: 'setting', key, version: 1, body }],
    })
    const found = [...(await differing())].map(
      ([name, nodes]) => `${VAR_SETTING}${name} (${nodes.join(', ')})`,
    )
    const text = found.sort().join('; ')
    const todo = 'give all nodes of the database the same, or take the setting away'
    if (text !== '' && text !== told) log.warn('vars.settings-differ', { node, settings: text, todo })
    told = text
  }
  const loop = () => {
    if (isClosed) return
    cancel = clock.after(REFRESH_MS, () => {
      publish()
        .catch((error) => log.warn('vars.settings-not-compared', { error: messageOf(error) }))
        .finally(loop)
    })
  }
  await publish()
  loop()
  return {
    differing,
    async close() {
      isClosed = true
      cancel()
      await store.commit({
        tenant: DEFAULT_TENANT,
        guards: [],
        writes: [{ w: 'record.delete', kind: 'setting', key }],
      })
    },
  }
}
