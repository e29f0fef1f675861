// What a replay would do, letter by letter. Calls nobody and writes nothing.

import { type DeadLetter, REPLAYS_MAX } from '../../core/dead-letter/index.ts'
import type { StoredEvent } from '../../core/event/index.ts'
import { ExpressionError } from '../../core/expression/index.ts'
import type { DeadLetterId, TenantId } from '../../core/ids/index.ts'
import { canonicalJson, JsonError, type JsonValue, parseJson } from '../../core/json/index.ts'
import { type Route, routeScope, type Vars } from '../../core/route/index.ts'
import { parsePayload } from '../../core/sensitive/index.ts'
import type { WorkRow } from '../../core/work/index.ts'
import type { Store, TenantReads } from '../../ports/store.ts'
import { findEarlierKey } from '../earlier-key.ts'
import { judgeLedger } from '../inspect/index.ts'
import { receiverOf } from '../intake-work.ts'
import { matchEvent } from '../matching.ts'
import { describe, hostOf } from '../outcome.ts'
import type { Registry } from '../registry.ts'
import type { StoreTime } from '../store-time.ts'
import { countLetters, readLetters } from './letters.ts'
import type { ReplayFilter } from './record.ts'

const VERDICTS = ['would-skip', 'would-call', 'would-differ', 'would-wait', 'would-fail'] as const
export type Verdict = (typeof VERDICTS)[number]

export interface PreviewedLetter {
  readonly id: DeadLetterId
  /**
   * skip: the effect is there. differ: as call, but not what was tried before. wait: somebody holds the key, or nobody knows
   * what became of an earlier call. fail: refused, or dead again at once.
   */
  readonly verdict: Verdict
  readonly reason: string
  readonly diff?: readonly string[]
}

export interface Preview {
  /** The first of them. */
  readonly items: readonly PreviewedLetter[]
  /** Of `items`. */
  readonly totals: Readonly<Record<Verdict, number>>
  /** By host, of `items`. */
  readonly calls: Readonly<Record<string, number>>
  /** How many letters the filter finds in all. */
  readonly matched: number
  /** There are more letters than `items`. */
  readonly isCapped: boolean
}

const ITEMS_MAX = 200
const AT_ONCE = 10

export interface PreviewDeps {
  readonly store: Store
  readonly registry: Registry
  readonly vars: Vars
  readonly time: StoreTime
}

export async function previewReplay(
  deps: PreviewDeps,
  tenant: TenantId,
  filter: ReplayFilter,
  force: boolean,
): Promise<Preview> {
  const reads = deps.store.forTenant(tenant)
  const letters = await firstLetters(reads, filter)
  const { count, isCapped } = await countLetters(reads, filter)
  const seen: (PreviewedLetter & { readonly host: string | null })[] = []
  for (let start = 0; start < letters.length; start += AT_ONCE) {
    const some = letters.slice(start, start + AT_ONCE)
    seen.push(...(await Promise.all(some.map((letter) => look(deps, tenant, letter, force)))))
  }
  return {
    items: seen.map(({ host: _host, ...item }) => item),
    ...addUp(seen),
    matched: count,
    isCapped: isCapped || count > seen.length,
  }
}

/** How many of each verdict, and how many calls to each host. */
export function addUp(
  seen: readonly { readonly verdict: Verdict; readonly host: string | null }[],
): Pick<Preview, 'totals' | 'calls'> {
  const totals = Object.fromEntries(VERDICTS.map((verdict) => [verdict, 0])) as Record<Verdict, number>
  const calls: Record<string, number> = {}
  for (const { verdict, host } of seen) {
    totals[verdict] += 1
    if (host !== null) calls[host] = (calls[host] ?? 0) + 1
  }
  return { totals, calls }
}

async function firstLetters(
  reads: TenantReads,
  filter: ReplayFilter,
): Promise<readonly (DeadLetter | DeadLetterId)[]> {
  if (filter.ids !== undefined) {
    const ids = filter.ids.slice(0, ITEMS_MAX)
    return Promise.all(ids.map(async (id) => (await reads.deadLetter(id)) ?? id))
  }
  const letters: DeadLetter[] = []
  let after: DeadLetterId | null = null
  do {
    const page = await readLetters(reads, filter, after, ITEMS_MAX)
    letters.push(...page.letters)
    after = page.after
  } while (after !== null && letters.length < ITEMS_MAX)
  return letters.slice(0, ITEMS_MAX)
}

type Seen = PreviewedLetter & { readonly host: string | null }

async function look(
  deps: PreviewDeps,
  tenant: TenantId,
  letter: DeadLetter | DeadLetterId,
  force: boolean,
): Promise<Seen> {
  if (typeof letter === 'string')
    return { id: letter, verdict: 'would-fail', reason: 'there is no such dead letter', host: null }
  const { id } = letter
  const fail = (reason: string): Seen => ({ id, verdict: 'would-fail', reason, host: null })
  if (letter.state !== 'open' && letter.state !== 'ready_to_replay') return fail(`it is ${letter.state}`)
  if (letter.replays >= REPLAYS_MAX && !force)
    return fail(`${letter.replays} replays were in vain; another one needs force`)
  const reads = deps.store.forTenant(tenant)
  const [event, work] = await Promise.all([reads.event(letter.eventId), reads.work(letter.workId)])
  if (event === null) return fail('its event is gone')
  if (letter.consumer.startsWith('source:')) return { id, ...lookAtIntake(deps, event) }
  const route = deps.registry.route(tenant, letter.consumer)
  if (route === null) return fail(`${letter.consumer} is not defined any more`)
  return {
    id,
    ...(await judgeRun(deps, route, event, { key: letter.key, before: work === null ? [] : [work] })),
  }
}

export type Judged = Omit<PreviewedLetter, 'id'> & { readonly host: string | null }

/** What a route in force would do about an event. `before`: its items of it, or of the event that it is a copy of. */
export async function judgeRun(
  deps: PreviewDeps,
  route: Route,
  event: StoredEvent,
  { key: known, before: items }: { readonly key: string | null; readonly before: readonly WorkRow[] },
): Promise<Judged> {
  const reads = deps.store.forTenant(event.tenant)
  const fail = (reason: string): Judged => ({ verdict: 'would-fail', reason, host: null })
  try {
    const scope = routeScope(event, parsePayload(event.data), parseJson(event.headers), deps.vars)
    const key = known ?? (await findEarlierKey(deps.registry, scope, items)) ?? route.keyOf(scope)
    const before = items.at(-1) ?? null
    // A replay is an item of its own: what the one before it holds is another's.
    const { verdict, reason } = await judgeLedger(reads, route, key, { own: null, before }, deps.time.now())
    if (verdict === 'would-skip')
      return { verdict: 'would-skip', reason: `the effect of ${key} is there already`, host: null }
    if (!route.wants(scope)) return fail('the route’s condition does not hold')
    if (verdict !== 'would-call') return { verdict: 'would-wait', reason, host: null }
    const { action } = route
    const host = action.type === 'http' ? hostOf(action.render({ ...scope, key }, key).url) : null
    const diff: string[] = []
    if (before !== null && before.eventId !== event.id) diff.push('payload: edited')
    if (before !== null && before.definition !== route.hash) {
      const earlier = await deps.registry.pinned(event.tenant, before.definition)
      diff.push(`definition: ${changedParts(earlier, route)}`)
    }
    const does = host === null ? `runs ${action.type}` : `calls ${host}`
    return diff.length === 0
      ? { verdict: 'would-call', reason: does, host }
      : { verdict: 'would-differ', reason: `${does}, other than before`, diff, host }
  } catch (error) {
    if (error instanceof ExpressionError) return fail(describe(error))
    if (error instanceof JsonError) return fail(error.message)
    throw error
  }
}

/** A letter of intake: its event is matched, and what its routes would do is theirs to say. */
function lookAtIntake(deps: PreviewDeps, event: StoredEvent): Judged {
  const fail = (reason: string): Judged => ({ verdict: 'would-fail', reason, host: null })
  const name = receiverOf(event)
  const source = name === null ? null : deps.registry.source(event.tenant, name)
  if (source !== null && source.status !== 'active')
    return { verdict: 'would-wait', reason: `its source is ${source.status}`, host: null }
  try {
    const matching = matchEvent(deps, source, event, parsePayload(event.data), parseJson(event.headers))
    if (!matching.ok) return fail(matching.error)
    const { routes, dispatched } = matching
    const names = [
      ...routes.map(({ document }) => document.name),
      ...dispatched.map(({ subject }) => subject),
    ]
    const reason = names.length === 0 ? 'is matched by nobody' : `is matched by ${names.join(', ')}`
    return { verdict: 'would-call', reason, host: null }
  } catch (error) {
    if (error instanceof JsonError) return fail(error.message)
    throw error
  }
}

/** The members of the document that differ, by name: a payload or a secret is never among them. */
function changedParts(before: Route | null, after: Route): string {
  if (before === null) return 'the earlier one is not in the store'
  const [old, now] = [before.document, after.document] as unknown as Record<string, JsonValue>[]
  const names = Object.keys({ ...old, ...now }).filter(
    (name) => canonicalJson(old?.[name] ?? null) !== canonicalJson(now?.[name] ?? null),
  )
  return names.length === 0 ? 'its code' : names.join(', ')
}
