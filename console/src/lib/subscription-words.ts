// Texts for subscriptions and deliveries: what they are and need.

import type { Delivery, RecoveryPreview, Subscription } from '../types.ts'

/** `https://crm.example.com/hooks?a=1` → the host, and what is around it. A template may have neither. */
export function addressOf(url: string): { readonly host: string; readonly rest: string } {
  const match = /^https?:\/\/([^/?]+)(.*)$/.exec(url)
  if (match === null) return { host: url, rest: '' }
  const [, host = '', rest = ''] = match
  return { host: url.startsWith('http:') ? `http://${host}` : host, rest: rest === '/' ? '' : rest }
}

type Because = NonNullable<Subscription['because']>

const DISABLED: Readonly<Record<Because, string>> = {
  gone: 'it answered 410',
  failing: 'it failed for too long',
  person: 'by hand',
}

/** After the status, in a few words; null: the status says it all. */
export const becauseInWords = (because: Subscription['because']): string | null =>
  because === null ? null : DISABLED[because]

interface Standing {
  readonly tone: 'red' | 'amber'
  readonly what: string
  /** What to do to resume it. */
  readonly next: string
}

const STOPPED: Readonly<Record<Because, Standing>> = {
  gone: {
    tone: 'red',
    what: 'It is disabled: the endpoint responded 410, which means that it wants no more events.',
    next: 'If that was a mistake, let the owner fix the endpoint, send a test, enable it here, and recover the missed events. If not, delete the subscription.',
  },
  failing: {
    tone: 'red',
    what: 'It disabled itself: no delivery had succeeded for too long.',
    next: 'Fix the endpoint or its address, send a test until it succeeds, enable it, and recover the missed events.',
  },
  person: {
    tone: 'amber',
    what: 'It is disabled: new events are skipped and listed.',
    next: 'Once it is enabled, skipped events can be recovered.',
  },
}

/** Its problem; null: none. */
export function standingInWords({
  status,
  because,
}: Pick<Subscription, 'status' | 'because'>): Standing | null {
  switch (status) {
    case 'failing':
      return {
        tone: 'red',
        what: 'Deliveries fail.',
        next: 'Retries continue, with growing pauses. Check the latest responses, fix the endpoint, and send a test: once one arrives, what waits follows by itself. What was given up can be recovered.',
      }
    case 'paused':
      return {
        tone: 'amber',
        what: 'It is paused: events are stored.',
        next: 'Deliveries are created and wait; all of them are sent when it is resumed.',
      }
    case 'disabled':
      return STOPPED[because ?? 'person']
    default:
      return null
  }
}

export const SUBSCRIPTION_SWITCHES = {
  pause: {
    title: 'Pause',
    text: 'New events are stored and wait. Nothing is lost, and all of them are sent when it is resumed.',
    done: 'It is paused',
  },
  resume: {
    title: 'Resume',
    text: 'The waiting deliveries are sent now, as fast as the endpoint allows.',
    done: 'It is active again',
  },
  disable: {
    title: 'Disable',
    text: 'Waiting deliveries stay. New events are skipped, listed, and can be recovered once it is enabled.',
    done: 'It is disabled',
  },
} as const

export const ENABLE_WORDS = {
  title: 'Enable',
  text: 'A test event is sent first, then all waiting deliveries. Earlier failures no longer count. "Recover" sends the events that were skipped in the meantime.',
  done: 'It is enabled; a test event is sent first',
} as const

export const DELIVERY_STATES: readonly (readonly [Delivery['state'], string])[] = [
  ['pending', 'Pending'],
  ['delivering', 'Delivering'],
  ['retrying', 'Retrying'],
  ['delivered', 'Delivered'],
  ['dead-lettered', 'Dead'],
  ['skipped', 'Skipped'],
  ['cancelled', 'Cancelled'],
]

const NOTES: Readonly<Record<string, readonly [short: string, whole: string]>> = {
  DISABLED: [
    'disabled at arrival',
    'The subscription was disabled when the event arrived. "Recover" on its page sends skipped events.',
  ],
  SUBSCRIPTION_GONE: ['the subscription was deleted', 'The subscription was deleted while it waited.'],
}

/** Why it was skipped or cancelled, or what went wrong last. */
export const deliveryNote = (error: string | undefined): string | undefined =>
  error === undefined ? undefined : (NOTES[error]?.[1] ?? error)

/** The last response in a few words. */
export function answerInShort({ state, httpStatus, error }: Delivery): string {
  if (state === 'delivered' || error === undefined)
    return httpStatus === undefined ? '' : `HTTP ${httpStatus}`
  return NOTES[error]?.[0] ?? error
}

/** What a click on the button does, by its state. */
export const RESEND: Readonly<
  Record<
    Delivery['state'],
    { readonly action: string; readonly text: string; readonly isReasonNeeded: boolean } | null
  >
> = {
  pending: {
    action: 'Send now',
    text: 'It is sent now, whatever happened before.',
    isReasonNeeded: false,
  },
  retrying: {
    action: 'Send now',
    text: 'It is sent now, without waiting for the next attempt.',
    isReasonNeeded: false,
  },
  delivering: null,
  delivered: {
    action: 'Resend',
    text: 'It was delivered. It is sent once more as a new delivery with the same webhook-id, so receivers can recognize the event.',
    isReasonNeeded: true,
  },
  'dead-lettered': {
    action: 'Resend',
    text: 'Its dead letter is replayed, with the current address and secret.',
    isReasonNeeded: false,
  },
  skipped: {
    action: 'Send it',
    text: 'It was skipped. It is sent as a new delivery.',
    isReasonNeeded: true,
  },
  cancelled: {
    action: 'Send it',
    text: 'It was cancelled. It is sent as a new delivery.',
    isReasonNeeded: true,
  },
}

export const isOpenDelivery = (state: Delivery['state']): boolean =>
  state === 'pending' || state === 'delivering' || state === 'retrying'

type Signing = Subscription['signing']

export const SIGNINGS: readonly (readonly [Signing, string])[] = [
  ['standard', 'Standard Webhooks (HMAC)'],
  ['ed25519', 'Standard Webhooks, public key (ed25519)'],
  ['github', 'GitHub’s header (x-hub-signature-256)'],
]

const SIGNED: Readonly<Record<Signing, string>> = {
  standard: 'Any library for Standard Webhooks verifies it with this secret.',
  ed25519: 'Receivers verify with the public key, which is not secret. The private key stays here.',
  github: 'It signs only the body: code that verifies GitHub’s webhooks verifies these too.',
}
export const signingInWords = (signing: Signing): string => SIGNED[signing]

/** How a receiver verifies our signature, in the most common language. */
export function verifySnippet(signing: Signing): string {
  const name = signing === 'ed25519' ? 'WEBHOOK_PUBLIC_KEY' : 'WEBHOOK_SECRET'
  return `import { verify } from 'millrace/client'

// body: the bytes as they came, before anything parses them
const event = verify(body, request.headers, process.env.${name})`
}

type RecoveryVerdict = keyof RecoveryPreview['totals']

export const RECOVERED: readonly (readonly [RecoveryVerdict, string, 'red' | 'accent', string])[] = [
  ['failed', 'failed', 'red', 'Their dead letters are replayed.'],
  ['missing', 'never sent', 'accent', 'They are sent for the first time.'],
]

/** Those that are left as they are, in one sentence; null: there are none. */
export function leftInWords(totals: RecoveryPreview['totals']): string | null {
  const parts = (
    [
      ['delivered', 'arrived'],
      ['under-way', 'are in progress'],
      ['given-up', 'were discarded'],
      ['unmatched', 'are still to be matched'],
    ] as const
  ).flatMap(([name, text]) => (totals[name] === 0 ? [] : [`${totals[name].toLocaleString('en')} ${text}`]))
  return parts.length === 0 ? null : `Left as they are: ${parts.join(', ')}.`
}

/** `a: b` a line. An invalid line is reported. */
export function readPairs(
  text: string,
): { readonly pairs: Readonly<Record<string, string>> } | { readonly message: string } {
  const pairs: Record<string, string> = {}
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).trim()
    if (colon < 0 || name === '') return { message: `Line ${index + 1}: write a name, a colon and a value.` }
    pairs[name] = line.slice(colon + 1).trim()
  }
  return { pairs }
}

export const writePairs = (pairs: Readonly<Record<string, string>>): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
