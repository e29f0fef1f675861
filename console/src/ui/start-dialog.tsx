// Starting an instance: which of the manual triggers, and its input.

import { useState } from 'react'
import { useLocation } from 'wouter'
import { problemOf, startInstance } from '../api.ts'
import type { JsonNode } from '../lib/json-text.ts'
import { triggerInWords } from '../lib/workflow-words.ts'
import type { Trigger, WorkflowDetail } from '../types.ts'
import { useAction } from './actions.tsx'
import { Button, Field } from './controls.tsx'
import { InputForm, useInput } from './input-form.tsx'
import { Dialog, Note } from './surfaces.tsx'

interface StartDialogProps {
  readonly workflow: WorkflowDetail
  readonly onClose: () => void
}

export function StartDialog({ workflow, onClose }: StartDialogProps) {
  const manual = workflow.triggers.filter((trigger) => trigger.manual)
  const [id, setId] = useState(manual[0]?.id)
  const trigger = manual.find((one) => one.id === id)
  if (trigger === undefined) return null
  return (
    <StartForm key={trigger.id} name={workflow.name} trigger={trigger} onClose={onClose}>
      {manual.length > 1 && (
        <Field label="Trigger">
          {(field) => (
            <select {...field} className="input" value={id} onChange={(event) => setId(event.target.value)}>
              {manual.map((one) => (
                <option key={one.id} value={one.id}>
                  {triggerInWords(one)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
    </StartForm>
  )
}

interface StartFormProps {
  readonly name: string
  readonly trigger: Trigger
  readonly onClose: () => void
  readonly children: React.ReactNode
}

function StartForm({ name, trigger, onClose, children }: StartFormProps) {
  const [, go] = useLocation()
  const { typed, form } = useInput(trigger.input)
  const start = useAction<JsonNode>({
    run: async (input) => {
      const { instanceId } = await startInstance(name, trigger.id, input)
      go(`/instances/${instanceId}`)
    },
    done: 'It began',
    failed: 'It could not be started',
    showsOwnErrors: true,
  })
  const problem = start.error == null ? null : problemOf(start.error)
  return (
    <Dialog
      title={`Start ${name}`}
      onClose={onClose}
      onSubmit={() => {
        if ('node' in typed) start.mutate(typed.node)
      }}
      foot={
        <>
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" variant="primary" isBusy={start.isPending} disabled={'message' in typed}>
            Start
          </Button>
        </>
      }
    >
      {children}
      <InputForm {...form} />
      {problem !== null && (
        <Note tone="red">
          <strong>{problem.title}.</strong> {problem.detail} {problem.next}
        </Note>
      )}
    </Dialog>
  )
}
