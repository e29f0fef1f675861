// Describes a route's settings for order, batching and flow control. A field omitted in the document means the default
// and is not described.

import { formatDuration } from './durations.ts'

/** The parts of a route's document that its page shows. */
export interface RouteShape {
  readonly each?: { readonly of: string; readonly as: string; readonly max: number }
  readonly fanOut?: 'first' | 'one'
  readonly priority?: 'high' | 'low'
  readonly drain?: {
    readonly profile: string | null
    readonly everyMs: number
    readonly events: number
    readonly cycles: number
  }
  readonly rateLimit?: { readonly profile: string | null; readonly perMinute: number; readonly burst: number }
  readonly concurrency?: { readonly limit: number; readonly by?: string }
  readonly order?: {
    readonly by: string
    readonly version?: string
    readonly stale?: 'skip'
    readonly onBlocked?: 'skip'
  }
  readonly debounce?: {
    readonly by: string
    readonly windowMs: number
    readonly maxWaitMs: number
    readonly keep?: 'first'
  }
  readonly batch?: { readonly size: number; readonly maxWaitMs: number; readonly results?: string }
  readonly circuit?: 'off' | { readonly consecutive: number; readonly openMs: number }
  readonly do?: { readonly auth?: AuthShape; readonly agent?: { readonly auth?: AuthShape } }
}

type SecretShape = { readonly ref?: string; readonly env?: string; readonly file?: string }

export interface AuthShape {
  readonly bearer?: SecretShape
  readonly basic?: { readonly user: string; readonly password: SecretShape }
  readonly header?: { readonly name: string; readonly value: SecretShape }
}

/** `bearer (secret books)`: where the value is, never what it is. */
function authInWords({ bearer, basic, header }: AuthShape): string {
  if (bearer !== undefined) return `bearer (${placeInWords(bearer)})`
  if (basic !== undefined) return `basic as ${basic.user} (${placeInWords(basic.password)})`
  return header === undefined ? '' : `header ${header.name} (${placeInWords(header.value)})`
}

function placeInWords({ ref, env, file }: SecretShape): string {
  if (ref !== undefined) return `secret ${ref}`
  return env === undefined ? `file ${file ?? ''}` : `environment variable ${env}`
}

interface Said {
  readonly what: string
  readonly text: string
}

const named = (profile: string | null) => (profile === null ? '' : ` (${profile})`)

/** One sentence or two for each setting that was written. */
export function buffersInWords(route: RouteShape): readonly Said[] {
  const said: Said[] = []
  const say = (what: string, ...texts: readonly (string | false)[]) =>
    said.push({ what, text: texts.filter((text) => text !== false).join(' ') })
  const { each, fanOut, priority, order, debounce, batch, concurrency, rateLimit, drain, circuit } = route
  if (each !== undefined)
    say(
      'Each',
      `One item for each element of ${each.of}, seen as ${each.as}; more than ${each.max} are refused.`,
    )
  if (fanOut === 'one')
    say('Fan-out', 'It must be the only route that wants an event; otherwise nobody runs.')
  if (fanOut === 'first') say('Fan-out', 'Only the first of the routes that want an event runs.')
  if (priority !== undefined)
    say(
      'Priority',
      priority === 'high'
        ? 'Before other routes when slots are few.'
        : 'After other routes when slots are few.',
    )
  if (order !== undefined)
    say(
      'Order',
      `One after another for each ${order.by}.`,
      order.stale === 'skip' && `What is older than ${order.version ?? 'what was done'} is skipped.`,
      order.onBlocked === 'skip'
        ? 'One that is dead or parked lets the others go on.'
        : 'One that is dead or parked holds the others up.',
    )
  if (debounce !== undefined)
    say(
      'Debounce',
      `Events of one ${debounce.by} within ${formatDuration(debounce.windowMs)} become one: the ${debounce.keep === 'first' ? 'first' : 'last'} stands for all.`,
      `It waits no longer than ${formatDuration(debounce.maxWaitMs)}.`,
    )
  if (batch !== undefined)
    say(
      'Batch',
      `Up to ${batch.size} items in one call, gathered for at most ${formatDuration(batch.maxWaitMs)}.`,
      batch.results === undefined ? 'They share the outcome.' : 'Each has its own outcome.',
    )
  if (concurrency !== undefined)
    say(
      'At once',
      `${concurrency.limit} at once${concurrency.by === undefined ? '' : ` for each ${concurrency.by}`}.`,
    )
  if (rateLimit !== undefined)
    say(
      'Rate',
      `${rateLimit.perMinute} calls per minute, ${rateLimit.burst} at a stretch${named(rateLimit.profile)}.`,
    )
  if (drain !== undefined)
    say(
      'Drain',
      `Every ${formatDuration(drain.everyMs)} ${drain.events} events${drain.cycles === 1 ? '' : `, ${drain.cycles} times over`}${named(drain.profile)}.`,
    )
  if (circuit === 'off') say('Circuit', 'It never pauses itself, however much fails.')
  else if (circuit !== undefined)
    say(
      'Circuit',
      `It pauses itself after ${circuit.consecutive} failures in a row, and tries one after ${formatDuration(circuit.openMs)}.`,
    )
  const auth = route.do?.auth ?? route.do?.agent?.auth
  if (auth !== undefined) say('Auth', authInWords(auth))
  return said
}

/** Why a job was skipped, as its note says. */
const SKIPPED: Readonly<Record<string, string>> = {
  STALE: 'Its lane is past its version: something newer was done before.',
  SUPERSEDED: 'Another event that came close to it stands for it.',
  EMPTY: 'There was nothing to do: the list is empty.',
  EXISTS: 'There is an instance with its key already.',
  ORPHAN: 'It found no instance, or several: it is among the orphans.',
  DISABLED: 'Who wanted it was disabled when the event came.',
}

export function skippedInWords(note: string | undefined): string | undefined {
  if (note === undefined) return undefined
  if (note.startsWith('SPLIT')) return 'The batch was refused as a whole and cut in two.'
  return SKIPPED[note] ?? note
}
