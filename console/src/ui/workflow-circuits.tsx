// The steps and triggers of a workflow that paused themselves, with the action that lets them go on.

import { Play } from 'lucide-react'
import { useState } from 'react'
import { api } from '../api.ts'
import { useMe, usePaces } from '../queries.ts'
import type { WorkflowCircuit } from '../types.ts'
import { ReasonDialog } from './actions.tsx'
import { Button, Time } from './controls.tsx'
import { Note } from './surfaces.tsx'

export function WorkflowCircuits({ workflow }: { readonly workflow: string }) {
  const { data } = usePaces()
  const paused = data?.workflows.filter((one) => one.workflow === workflow && one.circuit.state !== 'closed')
  return paused?.map((one) => <PausedPart key={one.part} of={one} />)
}

function PausedPart({ of: { workflow, part, circuit } }: { readonly of: WorkflowCircuit }) {
  const { data: me } = useMe()
  const [isAsking, setIsAsking] = useState(false)
  return (
    <div className="spaced">
      <Note tone="amber">
        <strong>
          <span className="mono">{part}</span> paused itself
          {circuit.class === null ? '' : `: too many of its jobs failed (${circuit.class})`}.
        </strong>{' '}
        {circuit.state === 'half-open'
          ? 'One job is being tried now; when it succeeds, the others follow.'
          : circuit.tryAt !== null && (
              <>
                It tries one job <Time at={circuit.tryAt} />; when that succeeds, the others follow.
              </>
            )}{' '}
        Waiting jobs use no attempt.
        {me?.role !== 'viewer' && (
          <div className="pace__action">
            <Button isSmall icon={<Play size={13} aria-hidden />} onClick={() => setIsAsking(true)}>
              Close the circuit
            </Button>
          </div>
        )}
      </Note>
      {isAsking && (
        <ReasonDialog
          title={`Close the circuit of ${part}`}
          text="Waiting jobs run within half a minute. It pauses itself again when they still fail."
          action="Close the circuit"
          run={(reason) => api.closeWorkflowCircuit({ workflow, part, reason })}
          done="The circuit is closed"
          isReasonNeeded
          onClose={() => setIsAsking(false)}
        />
      )}
    </div>
  )
}
