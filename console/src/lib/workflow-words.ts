// Texts for workflows: places, transitions, triggers, why they need attention, and what happened.

import type { Attention, Firing, HistoryEntry, Net, Orphan, Trigger, Verdict } from '../types.ts'
import { ACTION_KINDS } from './action-kinds.generated.ts'
import { formatDuration } from './durations.ts'

type PlaceShape = Net['places'][number]
type TransitionShape = Net['transitions'][number]

const PLACE_TYPES: Readonly<Record<PlaceShape['type'], string>> = {
  normal: 'place',
  waiting: 'waits for something',
  review: 'waits for a user',
  error: 'error',
  final: 'end',
}
export const placeTypeInWords = (type: PlaceShape['type']): string => PLACE_TYPES[type]

export function placeInWords(place: PlaceShape, tokens: number, isStart: boolean): string {
  return [
    `Place ${place.name}`,
    PLACE_TYPES[place.type],
    isStart ? 'the start' : '',
    `${tokens} ${tokens === 1 ? 'token' : 'tokens'}`,
    place.timeout === null
      ? ''
      : `after ${formatDuration(place.timeout.afterMs)} fires ${place.timeout.fire}`,
    place.onEnter === null ? '' : `on entry ${actionInWords(place.onEnter)}`,
    place.description ?? '',
  ]
    .filter((text) => text !== '')
    .join(', ')
}

/** Its effective mode: a transition that a trigger or a timeout names is not automatic. */
export function modeInWords({ on, isAutomatic }: Pick<TransitionShape, 'on' | 'isAutomatic'>): string {
  if (isAutomatic) return 'by itself'
  if (on === 'manual') return 'by hand'
  if (on === 'timer') return 'by the clock'
  return 'by an event'
}

export const actionInWords = (type: string): string => ACTION_KINDS[type]?.does ?? type

const STATES: Readonly<Record<Firing['state'], string>> = {
  running: 'is running',
  failed: 'failed',
  parked: 'has an unknown outcome',
  interrupted: 'was interrupted',
  waiting: 'waits for the instance that it started',
}
export const transitionStateInWords = (state: Firing['state']): string => STATES[state]

export function transitionInWords(
  transition: TransitionShape,
  fired: readonly number[],
  state: Firing['state'] | undefined,
): string {
  return [
    `Transition ${transition.name}`,
    modeInWords(transition),
    transition.action === null ? '' : actionInWords(transition.action),
    transition.when === null ? '' : `when ${transition.when}`,
    transition.permission === null ? '' : `needs ${transition.permission}`,
    fired.length === 0 ? '' : `firing ${fired.join(', ')}`,
    state === undefined ? '' : STATES[state],
    transition.description ?? '',
  ]
    .filter((text) => text !== '')
    .join(', ')
}

const ATTENTIONS: Readonly<Record<Attention, readonly [short: string, text: string]>> = {
  step_failed: ['a step failed', 'A step failed permanently. A retry continues at that step.'],
  step_parked: [
    'unknown outcome',
    'Nobody knows whether a step took effect. Record the outcome among the unknown outcomes.',
  ],
  undo_failed: ['roll-back stopped', 'The roll-back stopped. Retry it once you have fixed the cause.'],
  stuck: ['stuck', 'No transition can move it. Move its tokens, edit its data or cancel it.'],
  lock_expired: [
    'holds its lock too long',
    'It has held its lock for longer than declared. Others wait for it; the lock is not taken away.',
  ],
}
export const attentionInShort = (attention: Attention): string => ATTENTIONS[attention][0]
export const attentionInWords = (attention: Attention): string => ATTENTIONS[attention][1]

const TRIGGERED: Readonly<Record<Trigger['action'], string>> = {
  create: 'starts an instance',
  update: 'reaches the instance with its key',
  createOrUpdate: 'starts an instance, or reaches the one with its key',
}

/** `on` as a whole sentence. */
export function triggerInWords({ on, schedule, manual, permission, action, fire }: Trigger): string {
  const who = manual
    ? `A user or a program${permission === null ? '' : ` with the permission ${permission}`}`
    : schedule !== null
      ? `The clock, by ${schedule},`
      : `An event of ${on.join(' or ')}`
  return `${who} ${TRIGGERED[action]}${fire === null ? '' : ` and fires ${fire}`}.`
}

const VERDICTS: Readonly<
  Record<Verdict, readonly [tone: 'accent' | 'grey' | 'amber' | 'red', text: string]>
> = {
  proved: ['accent', 'Proved: whatever happens, every instance can end.'],
  'sound-ignoring-conditions': ['accent', 'No deadlocks found (conditions not evaluated).'],
  'not-proved': ['amber', 'Not proved: a defect is possible, or the net is too large to check.'],
  unsound: ['red', 'Not sound: an instance can get stuck or break.'],
}
export const verdictTone = (verdict: Verdict) => VERDICTS[verdict][0]
export const verdictInWords = (verdict: Verdict): string => VERDICTS[verdict][1]

const ORPHAN_REASONS: Readonly<Record<Orphan['reason'], string>> = {
  nobody: 'No instance has its key.',
  several: 'Several instances have its key.',
}
export const orphanInWords = ({ reason, state }: Pick<Orphan, 'reason' | 'state'>): string =>
  state === 'waiting' ? 'Its instance may still start: it waits.' : ORPHAN_REASONS[reason]

type Tone = 'green' | 'red' | 'amber' | 'accent' | 'grey' | 'violet'

const HAPPENED: Readonly<Record<HistoryEntry['type'], readonly [Tone, (name: string) => string]>> = {
  created: ['accent', () => 'Began'],
  updated: ['accent', () => 'An event reached it'],
  admitted: ['accent', () => 'Was let in'],
  began: ['grey', (name) => `${name} began`],
  fired: ['accent', (name) => `${name} fired`],
  ended: ['green', (name) => `${name} is done`],
  failed: ['red', (name) => `${name} failed`],
  interrupted: ['amber', (name) => `${name} was interrupted`],
  late: ['amber', (name) => `${name} ended after it was interrupted`],
  undone: ['violet', (name) => `${name} is undone`],
  rolling_back: ['violet', () => 'Rolls back what was done'],
  timed_out: ['amber', (name) => `The time in ${name} is over`],
  learned: ['grey', () => 'Learned a key'],
  moved: ['violet', () => 'Tokens were moved manually'],
  edited: ['violet', () => 'Data was edited manually'],
  cancelled: ['grey', () => 'Was cancelled'],
  retried: ['accent', (name) => `${name} is retried`],
  migrated: ['violet', () => 'Was migrated to another version'],
  noted: ['grey', () => 'A note'],
}

const PARTS = { enter: 'What is done on entry to', undo: 'Undoing' } as const

export function entryInWords({ type, name = '', part, version, state, successor }: HistoryEntry): string {
  if (type === 'undone') return `${name} is undone`
  if (type === 'rolling_back' && state !== undefined) return `All is taken back: the instance ${state}`
  const what = part === undefined ? name : `${PARTS[part]} ${name}`
  if (type === 'migrated' && successor !== undefined) return 'A new instance of a newer version took over'
  if (type === 'migrated' && version !== undefined) return `Went to version ${version}`
  const text = HAPPENED[type][1](what === '' ? 'It' : what)
  return state === undefined || state === 'active' || type === 'cancelled'
    ? text
    : `${text}: the instance ${state}`
}
export const entryTone = ({ type }: Pick<HistoryEntry, 'type'>): Tone => HAPPENED[type][0]

/** `a, b × 2`. */
export function markingInWords(marking: Readonly<Record<string, number>>): string {
  const places = Object.entries(marking).map(([place, tokens]) =>
    tokens === 1 ? place : `${place} × ${tokens}`,
  )
  return places.length === 0 ? 'no token' : places.join(', ')
}
