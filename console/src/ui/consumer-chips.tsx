// The outcome of an event, as chips: one for each route, and a word if there is none.

import type { EventRow } from '../types.ts'
import { Chip, StateChip } from './controls.tsx'

interface ConsumerChipsProps {
  readonly event: Pick<EventRow, 'consumers' | 'matched'>
  /** Without the names of the routes, where there is little room. */
  readonly isShort?: boolean
}

export function ConsumerChips({ event: { consumers, matched }, isShort = false }: ConsumerChipsProps) {
  const isAlone = !consumers.some(({ kind, state }) => kind !== 'source' || state !== 'done')
  return (
    <span className="chips">
      {/* Without its own job it was matched only by a rule, which derived other events from it. */}
      {isAlone && <Chip>{matched === 0 ? 'unmatched' : 'dispatched'}</Chip>}
      {consumers.map(({ workId, kind, name, state, attempts }) =>
        kind === 'source' ? (
          <MatchingChip key={workId} state={state} />
        ) : (
          <StateChip key={workId} state={state} attempts={attempts} {...(!isShort && { label: name })} />
        ),
      )}
    </span>
  )
}

/** The job that matches an event later: of one that a paused source stores, or that was replayed. */
function MatchingChip({ state }: { readonly state: string }) {
  if (state === 'ready' || state === 'waiting') return <Chip tone="amber">kept</Chip>
  if (state === 'done') return null
  return <StateChip state={state} label="matching" />
}
