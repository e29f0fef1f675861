// Which events to replay: by source, subject and time. A preview follows before anything happens.

import { useState } from 'react'
import { HOUR_MS, localAgo, toInstant } from '../lib/local-time.ts'
import type { EventSelection } from '../types.ts'
import { Button, Field } from './controls.tsx'
import { ReplayEventsDialog } from './replay-dialog.tsx'
import { Dialog } from './surfaces.tsx'

interface ReplayManyProps {
  readonly initial: {
    readonly source: string
    readonly subject: string
    readonly unmatched: boolean
    readonly system: boolean
  }
  readonly sources: readonly string[]
  readonly onClose: () => void
}

export function ReplayManyDialog({ initial, sources, onClose }: ReplayManyProps) {
  const [source, setSource] = useState(initial.source)
  const [subject, setSubject] = useState(initial.subject)
  const [unmatched, setUnmatched] = useState(initial.unmatched)
  const [from, setFrom] = useState(() => localAgo(HOUR_MS))
  const [to, setTo] = useState('')
  const [selection, setSelection] = useState<EventSelection | null>(null)
  if (selection !== null) {
    return <ReplayEventsDialog selection={selection} what="events" onClose={onClose} />
  }
  const [fromAt, toAt] = [toInstant(from), toInstant(to)]
  const isBackwards = fromAt !== undefined && toAt !== undefined && toAt <= fromAt
  const isEverything = source === '' && subject.trim() === '' && fromAt === undefined && toAt === undefined
  const problem = isBackwards
    ? 'The end is before the beginning.'
    : isEverything && !unmatched
      ? 'Choose at least one: source, subject or time.'
      : undefined
  const submit = () => {
    if (problem !== undefined) return
    setSelection({
      filter: {
        ...(source !== '' && { source }),
        ...(subject.trim() !== '' && { subject: subject.trim() }),
        ...(fromAt !== undefined && { from: fromAt }),
        ...(toAt !== undefined && { to: toAt }),
        ...(unmatched && { unmatched }),
        ...(initial.system && { system: true }),
      },
    })
  }
  return (
    <Dialog
      title="Replay events"
      onClose={onClose}
      onSubmit={submit}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" disabled={problem !== undefined}>
            Show what would happen
          </Button>
        </>
      }
    >
      <div className="muted">
        They are matched again with the deployed definitions. An effect that is in the ledger is not repeated.
      </div>
      <div className="pair">
        <Field label="Source">
          {(field) => (
            <select
              {...field}
              className="input"
              value={source}
              onChange={(event) => setSource(event.target.value)}
            >
              <option value="">All sources</option>
              {sources.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Subject">
          {(field) => (
            <input
              {...field}
              className="input mono"
              placeholder="Any"
              spellCheck={false}
              value={subject}
              onChange={(event) => setSubject(event.target.value)}
            />
          )}
        </Field>
        <Field label="Received from" error={problem}>
          {(field) => (
            <input
              {...field}
              className="input"
              type="datetime-local"
              value={from}
              onChange={(event) => setFrom(event.target.value)}
            />
          )}
        </Field>
        <Field label="Until" hint="Empty: until now.">
          {(field) => (
            <input
              {...field}
              className="input"
              type="datetime-local"
              value={to}
              onChange={(event) => setTo(event.target.value)}
            />
          )}
        </Field>
      </div>
      <label className="check">
        <input type="checkbox" checked={unmatched} onChange={(event) => setUnmatched(event.target.checked)} />
        Only unmatched events
      </label>
    </Dialog>
  )
}
