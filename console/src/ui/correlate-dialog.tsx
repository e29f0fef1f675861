// Assigns an orphan to an instance: one of the active ones, or any by its id.

import { useState } from 'react'
import { api } from '../api.ts'
import { markingInWords } from '../lib/workflow-words.ts'
import { useInstances } from '../queries.ts'
import type { Orphan } from '../types.ts'
import { optionalReason, ReasonDialog } from './actions.tsx'
import { Field, Time } from './controls.tsx'

const SHOWN = 20

export function CorrelateDialog({
  orphan,
  onClose,
}: {
  readonly orphan: Orphan
  readonly onClose: () => void
}) {
  const { data } = useInstances({ name: orphan.workflow, state: 'active', limit: SHOWN })
  const [instance, setInstance] = useState('')
  return (
    <ReasonDialog
      title="Correlate this orphan"
      text={
        <div className="move">
          <p>
            The trigger that wanted the event is run for the instance that you choose, as if it had its key{' '}
            <code>{orphan.keys}</code>.
          </p>
          <fieldset className="choose-instance">
            <legend className="field__label">Instance</legend>
            {data?.items.map(({ id, marking, updatedAt }) => (
              <label key={id} className="choose-instance__one">
                <input
                  type="radio"
                  name="instance"
                  value={id}
                  checked={instance === id}
                  onChange={() => setInstance(id)}
                />
                <span className="mono truncate">{id}</span>
                <span className="muted truncate">{markingInWords(marking)}</span>
                <span className="faint">
                  <Time at={updatedAt} />
                </span>
              </label>
            ))}
            {data?.items.length === 0 && <p className="muted">None is active now.</p>}
          </fieldset>
          <Field label="Or by its id" hint="From its page or its data.">
            {(field) => (
              <input
                {...field}
                className="input mono"
                value={instance}
                placeholder="ins_…"
                spellCheck={false}
                onChange={(event) => setInstance(event.target.value.trim())}
              />
            )}
          </Field>
        </div>
      }
      action="Correlate"
      run={(reason) => api.correlateOrphan({ id: orphan.id, instance, ...optionalReason(reason) })}
      done="It is on its way to the instance"
      isReasonNeeded
      onClose={onClose}
    />
  )
}
