// Logs names that lead to forbidden addresses: at once the first time, then one line a minute for each name and tenant with the count.
// A job that is retried, or many jobs to one name, would otherwise fill the log with the same line.

import type { RefusedName } from '../core/access/network/index.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

export interface RefusedNames extends Disposable {
  /** `tenant` undefined: one of those that share a client. */
  note(refused: RefusedName, tenant: string | undefined): void
}

const EVERY_MS = 60_000
/** Names that are counted one by one; addresses made from payloads may have any number of names. */
const NAMES_MAX = 1_000
const OTHERS = '*'

interface Counted {
  refused: RefusedName
  readonly tenant: string | undefined
  /** Since the last line. */
  count: number
  cancel(): void
}

export function makeRefusedNames(deps: {
  readonly clock: Pick<Clock, 'after'>
  readonly log: Pick<Log, 'warn'>
}): RefusedNames {
  const { clock, log } = deps
  const names = new Map<string, Counted>()

  const write = (one: Counted) => {
    const { host, rule, addresses } = one.refused
    const whose = one.tenant === undefined ? {} : { tenant: one.tenant }
    log.warn('outbound.refused', { ...whose, host, rule, addresses: addresses.join(', '), count: one.count })
    one.count = 0
  }
  const follow = (key: string, one: Counted) => {
    one.cancel = clock.after(EVERY_MS, () => {
      if (one.count === 0) {
        names.delete(key)
        return
      }
      write(one)
      follow(key, one)
    })
  }

  return {
    note(refused, tenant) {
      const own = JSON.stringify([tenant ?? null, refused.host])
      const isCounted = names.has(own) || names.size < NAMES_MAX
      const key = isCounted ? own : OTHERS
      const said = isCounted ? refused : { ...refused, host: OTHERS }
      const known = names.get(key)
      if (known !== undefined) {
        known.refused = said
        known.count += 1
        return
      }
      const one: Counted = { refused: said, tenant: isCounted ? tenant : undefined, count: 1, cancel() {} }
      names.set(key, one)
      write(one)
      follow(key, one)
    },
    [Symbol.dispose]() {
      for (const one of names.values()) {
        one.cancel()
        if (one.count > 0) write(one)
      }
      names.clear()
    },
  }
}
