import { describe, expect, test } from 'vitest'
import type { InstanceId, TenantId, WorkId } from '../core/foundation/ids/index.ts'
import type { Change } from '../engine/index.ts'
import { HUB_LIMITS, type HubLimits, type Lens, makeStreamHub } from './stream-hub.ts'

const OURS = 'ours' as TenantId
const THEIRS = 'theirs' as TenantId

type Watcher = Parameters<Parameters<typeof makeStreamHub>[0]['watch']>[0]

function makeWorld(limits: Partial<HubLimits> = {}) {
  let now = 0
  let timers: { at: number; callback: () => void }[] = []
  const watchers = new Set<Watcher>()
  const hub = makeStreamHub(
    {
      watch(watcher) {
        watchers.add(watcher)
        return () => watchers.delete(watcher)
      },
      life: 'life',
      after(delayMs, callback) {
        const timer = { at: now + delayMs, callback }
        timers.push(timer)
        return () => {
          timers = timers.filter((other) => other !== timer)
        }
      },
      monotonic: () => now,
    },
    { ...HUB_LIMITS, ...limits },
  )
  /** Lets time pass, timer by timer. */
  const pass = async (ms: number) => {
    const until = now + ms
    for (;;) {
      const next = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      timers = timers.filter((timer) => timer !== next)
      now = next.at
      next.callback()
      await Promise.resolve()
      await Promise.resolve()
    }
    now = until
  }
  const read = (tenant: TenantId, lastId: string | null = null, credential = 'key', lens?: Lens) => {
    const texts: string[] = []
    const state = { canTake: true, may: true, hasEnded: false, isDropped: false }
    const joined = hub.join({ tenant, credential, ...(lens && { lens }) }, lastId, {
      write(text) {
        texts.push(text)
        return state.canTake
      },
      end: () => {
        state.hasEnded = true
      },
      drop: () => {
        state.isDropped = true
      },
      mayRead: async () => state.may,
    })
    const seat = typeof joined === 'string' ? null : joined
    const messages = () =>
      texts.map((text) => ({
        event: /^event: (.+)$/m.exec(text)?.[1],
        id: /^id: (.+)$/m.exec(text)?.[1] ?? null,
        data: JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? 'null'),
      }))
    const told = () => messages().filter(({ event }) => event !== 'ping')
    return { joined, seat, state, texts, messages, told }
  }
  return {
    hub,
    pass,
    read,
    watchers,
    change: (tenant: TenantId, change: Change) => {
      for (const watcher of watchers) watcher.changed(tenant, change)
    },
    lose: () => {
      for (const watcher of watchers) watcher.lost()
    },
  }
}

const work = (id: number, state: 'leased' | 'done' = 'leased'): Change => ({
  type: 'work',
  id: `wrk_${id}` as WorkId,
  eventId: null,
  consumer: 'route:book',
  state,
  attempts: 0,
  class: null,
})

describe('the stream', () => {
  test('[FD3] sends a reader the changes of its own tenant, gathered', async () => {
    const { read, change, pass } = makeWorld()
    const [ours, theirs] = [read(OURS), read(THEIRS)]
    change(OURS, work(1))
    change(OURS, work(2))
    change(THEIRS, work(3))
    await pass(124)
    expect(ours.told()).toEqual([])
    await pass(1)
    expect(ours.told()).toMatchObject([
      {
        event: 'changes',
        id: 'life-2',
        data: { changes: [{ id: 'wrk_1', consumer: 'book' }, { id: 'wrk_2' }] },
      },
    ])
    expect(theirs.told()).toMatchObject([{ data: { changes: [{ id: 'wrk_3' }] } }])
  })

  test('[FD3] sends a reader with a lens only what it may see, and others all of it', async () => {
    const { read, change, pass } = makeWorld()
    const lens = { name: 'none', sees: (one: Change) => one.type !== 'instance' }
    const [all, some] = [read(OURS), read(OURS, null, 'other', lens)]
    change(OURS, work(1))
    change(OURS, {
      type: 'instance',
      id: 'ins_1' as InstanceId,
      workflow: 'triage',
      state: 'active',
      attention: null,
      marking: { review: 1 },
    })
    await pass(125)
    expect(all.told()).toMatchObject([{ data: { changes: [{ id: 'wrk_1' }, { id: 'ins_1' }] } }])
    expect(some.told()).toEqual([
      expect.objectContaining({ data: { changes: [expect.objectContaining({ id: 'wrk_1' })] } }),
    ])
  })

  test('[FD5] sends at most eight messages a second, and of a row only its last change', async () => {
    const { read, change, pass } = makeWorld()
    const reader = read(OURS)
    for (let ms = 0; ms < 1_000; ms += 1) {
      change(OURS, work(ms >> 1, ms % 2 === 0 ? 'leased' : 'done'))
      await pass(1)
    }
    const told = reader.told()
    expect(told.length).toBeGreaterThan(5)
    expect(told.length).toBeLessThanOrEqual(8)
    const first = told[0]?.data.changes
    expect(new Set(first.map(({ id }: { id: string }) => id)).size).toBe(first.length)
    expect(first[0]).toMatchObject({ id: 'wrk_0', state: 'done' })
  })

  test('[FD6] reports a gap to a reader that is too far behind, and then continues', async () => {
    const { read, change, pass } = makeWorld({ behindMax: 10 })
    const reader = read(OURS)
    for (let id = 0; id < 11; id += 1) change(OURS, work(id))
    await pass(125)
    change(OURS, work(99))
    await pass(125)
    expect(reader.told()).toMatchObject([
      { event: 'gap', id: 'life-11', data: { dropped: 11 } },
      { event: 'changes', data: { changes: [{ id: 'wrk_99' }] } },
    ])
  })

  test('[FD6] stores only the position of a slow reader, and does not affect others', async () => {
    const { read, change, pass } = makeWorld({ behindMax: 10 })
    const [slow, quick] = [read(OURS), read(OURS)]
    slow.state.canTake = false
    change(OURS, work(0))
    await pass(125)
    for (let round = 1; round <= 5; round += 1) {
      for (let id = 0; id < 5; id += 1) change(OURS, work(round * 5 + id))
      await pass(125)
    }
    expect(slow.told()).toHaveLength(1)
    expect(quick.told()).toHaveLength(6)
    slow.state.canTake = true
    slow.seat?.drained()
    await pass(125)
    expect(slow.told().at(-1)).toMatchObject({ event: 'gap', data: { dropped: 25 } })
  })

  test('[FD6] lets a reader go that takes nothing for a minute', async () => {
    const { read, pass } = makeWorld()
    const reader = read(OURS)
    reader.state.canTake = false
    await pass(15_000)
    expect(reader.messages()).toHaveLength(2)
    await pass(60_000)
    expect(reader.state.isDropped).toBe(true)
    expect(reader.messages()).toHaveLength(2)
  })

  test('[FD10] cuts a stuck reader off, and its seat is free at once', async () => {
    const { read, pass } = makeWorld({ readersMax: 1 })
    const stuck = read(OURS)
    stuck.state.canTake = false
    await pass(15_000)
    expect(read(OURS).joined).toBe('tenant')
    stuck.state.may = false
    await pass(15_000)
    expect(stuck.state.isDropped).toBe(true)
    expect(read(OURS).seat).not.toBeNull()
  })

  test('[FD10] cuts a reader off that does not take its end, and not one that did', async () => {
    const { hub, read, pass } = makeWorld()
    const [polite, silent] = [read(OURS), read(OURS)]
    for (const { state } of [polite, silent]) state.may = false
    hub.recheck(THEIRS)
    await pass(0)
    expect(polite.state.hasEnded).toBe(false)
    hub.recheck(OURS)
    await new Promise((done) => setImmediate(done))
    expect([polite.state.hasEnded, silent.state.hasEnded]).toEqual([true, true])
    polite.seat?.leave()
    await pass(2_999)
    expect(silent.state.isDropped).toBe(false)
    await pass(1)
    expect([polite.state.isDropped, silent.state.isDropped]).toEqual([false, true])
  })

  test('[FD8] takes a bounded number of readers per key', () => {
    const { read } = makeWorld({ readersPerCredentialMax: 2 })
    const first = read(OURS, null, 'mine')
    read(OURS, null, 'mine')
    expect(read(OURS, null, 'mine').joined).toBe('credential')
    expect(read(OURS, null, 'yours').seat).not.toBeNull()
    first.seat?.leave()
    expect(read(OURS, null, 'mine').seat).not.toBeNull()
  })

  test('[FD6] reports a gap when it is unknown what changed', async () => {
    const { read, lose, pass } = makeWorld()
    const reader = read(OURS)
    lose()
    await pass(125)
    expect(reader.told()).toMatchObject([{ event: 'gap' }])
  })

  test('[FD7] goes on from the last message after a short break, else with a gap', async () => {
    const { read, change, pass, lose } = makeWorld({ ringMax: 10 })
    const first = read(OURS)
    expect(first.messages()[0]).toMatchObject({ event: 'ping', id: 'life-0' })
    change(OURS, work(1))
    await pass(125)
    first.seat?.leave()
    change(OURS, work(2))
    await pass(10_000)
    const again = read(OURS, 'life-1')
    await pass(125)
    expect(again.told()).toMatchObject([{ event: 'changes', data: { changes: [{ id: 'wrk_2' }] } }])
    for (const lastId of ['other-1', 'life-99', 'life-x', 'life-1e0x', '']) {
      const stranger = read(OURS, lastId)
      await pass(125)
      expect(stranger.told(), lastId).toMatchObject([{ event: 'gap' }])
    }
    for (let id = 0; id < 11; id += 1) change(OURS, work(id))
    const late = read(OURS, 'life-1')
    await pass(125)
    expect(late.told()).toMatchObject([{ event: 'gap' }])
    const place = String(late.told()[0]?.id)
    late.seat?.leave()
    lose()
    const afterLoss = read(OURS, place)
    await pass(125)
    expect(afterLoss.told()).toMatchObject([{ event: 'gap' }])
  })

  test('[FD7] watches only while there is a reader, and a little longer', async () => {
    const { read, watchers, pass, change } = makeWorld()
    expect(watchers.size).toBe(0)
    const reader = read(OURS)
    expect(watchers.size).toBe(1)
    reader.seat?.leave()
    await pass(29_999)
    expect(watchers.size).toBe(1)
    await pass(1)
    expect(watchers.size).toBe(0)
    change(OURS, work(1))
    const late = read(OURS, 'life-0')
    await pass(125)
    expect(late.told()).toMatchObject([{ event: 'gap' }])
  })

  test('[FD8] pings every fifteen seconds and ends when the reader may not read any more', async () => {
    const { read, pass } = makeWorld()
    const reader = read(OURS)
    await pass(15_000)
    expect(reader.messages().map(({ event }) => event)).toEqual(['ping', 'ping'])
    expect(reader.state.hasEnded).toBe(false)
    reader.state.may = false
    await pass(15_000)
    expect(reader.state.hasEnded).toBe(true)
  })

  test('[FD8] takes a bounded number of readers per tenant, and ends them all when it closes', () => {
    const { hub, read, watchers } = makeWorld({ readersMax: 2 })
    const readers = [read(OURS), read(OURS), read(THEIRS)]
    expect(read(OURS).seat).toBeNull()
    hub.close()
    expect(readers.map(({ state }) => state.hasEnded)).toEqual([true, true, true])
    expect(watchers.size).toBe(0)
    expect(read(OURS).seat).toBeNull()
  })
})
