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
      `One job for each element of ${each.of}, named ${each.as}; more than ${each.max} are refused.`,
    )
  if (fanOut === 'one')
    say('Fan-out', 'It must be the only route that matches an event; otherwise none runs.')
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
      order.stale === 'skip' && `Events older than ${order.version ?? 'the last one'} are skipped.`,
      order.onBlocked === 'skip'
        ? 'A dead or parked job does not block the others.'
        : 'A dead or parked job blocks the others.',
    )
  if (debounce !== undefined)
    say(
      'Debounce',
      `Events of one ${debounce.by} within ${formatDuration(debounce.windowMs)} become one: the ${debounce.keep === 'first' ? 'first' : 'last'} one is used.`,
      `It waits no longer than ${formatDuration(debounce.maxWaitMs)}.`,
    )
  if (batch !== undefined)
    say(
      'Batch',
      `Up to ${batch.size} jobs in one call, collected for at most ${formatDuration(batch.maxWaitMs)}.`,
      batch.results === undefined ? 'They share the outcome.' : 'Each has its own outcome.',
    )
  if (concurrency !== undefined)
    say(
      'Concurrency',
      `${concurrency.limit} at once${concurrency.by === undefined ? '' : ` for each ${concurrency.by}`}.`,
    )
  if (rateLimit !== undefined)
    say(
      'Rate',
      `${rateLimit.perMinute} calls per minute, ${rateLimit.burst} in a burst${named(rateLimit.profile)}.`,
    )
  if (drain !== undefined)
    say(
      'Drain',
      `Every ${formatDuration(drain.everyMs)} ${drain.events} events${drain.cycles === 1 ? '' : `, ${drain.cycles} times over`}${named(drain.profile)}.`,
    )
  if (circuit === 'off') say('Circuit', 'Off: it never opens.')
  else if (circuit !== undefined)
    say(
      'Circuit',
      `It opens after ${circuit.consecutive} failures in a row, and makes a trial call after ${formatDuration(circuit.openMs)}.`,
    )
  const auth = route.do?.auth ?? route.do?.agent?.auth
  if (auth !== undefined) say('Auth', authInWords(auth))
  return said
}

/** Why a job was skipped, as its note says. */
const SKIPPED: Readonly<Record<string, string>> = {
  STALE: 'An event with a newer version was already processed.',
  SUPERSEDED: 'It was superseded by another event in the same burst.',
  EMPTY: 'There was nothing to do: the list is empty.',
  EXISTS: 'An instance with its key already exists.',
  ORPHAN: 'It found no instance, or several: it is among the orphans.',
  DISABLED: 'Its route was disabled when the event arrived.',
}

export function skippedInWords(note: string | undefined): string | undefined {
  if (note === undefined) return undefined
  if (note.startsWith('SPLIT')) return 'The batch was refused as a whole and cut in two.'
  return SKIPPED[note] ?? note
}
