// A user's actions on an instance: fire, retry, edit its data, move tokens, migrate, cancel. Everything asks first.

import { Ban, FilePen, MoveRight, Play, RotateCcw, Shuffle } from 'lucide-react'
import { useState } from 'react'
import { api } from '../api.ts'
import type { JsonNode } from '../lib/json-text.ts'
import type { Explained, InstanceDetail, Workflow } from '../types.ts'
import { optionalReason, ReasonDialog } from './actions.tsx'
import { Button } from './controls.tsx'
import { EditDataDialog } from './edit-data-dialog.tsx'
import { FireDialog } from './fire-dialog.tsx'
import { MigrateDialog } from './migrate-dialog.tsx'
import { MoveDialog } from './move-dialog.tsx'

type Asking = 'fire' | 'retry' | 'edit' | 'move' | 'migrate' | 'cancel' | null

interface InstanceActionsProps {
  readonly instance: InstanceDetail
  readonly data: JsonNode | undefined
  readonly why: readonly Explained[]
  readonly inForce: Workflow | undefined
}

export function InstanceActions({ instance, data, why, inForce }: InstanceActionsProps) {
  const [asking, setAsking] = useState<Asking>(null)
  const close = () => setAsking(null)
  const { id, state, firings, net } = instance
  // A dialog stays open when another user acts meanwhile: the response says so.
  if (state !== 'active' && asking === null) return null
  const failed = firings.filter((firing) => firing.state === 'failed')
  const byHand = net.transitions.filter((one) => !one.isAutomatic && one.on !== 'timer')
  const canMigrate = inForce !== undefined && inForce.definition !== instance.definition
  return (
    <>
      <Button variant="danger" icon={<Ban size={14} aria-hidden />} onClick={() => setAsking('cancel')}>
        Cancel
      </Button>
      {canMigrate && (
        <Button icon={<MoveRight size={14} aria-hidden />} onClick={() => setAsking('migrate')}>
          Migrate
        </Button>
      )}
      <Button icon={<Shuffle size={14} aria-hidden />} onClick={() => setAsking('move')}>
        Move
      </Button>
      <Button icon={<FilePen size={14} aria-hidden />} onClick={() => setAsking('edit')}>
        Edit data
      </Button>
      {failed.length > 0 && (
        <Button
          variant="primary"
          icon={<RotateCcw size={14} aria-hidden />}
          onClick={() => setAsking('retry')}
        >
          Retry
        </Button>
      )}
      {byHand.length > 0 && (
        <Button
          variant={failed.length > 0 ? 'default' : 'primary'}
          icon={<Play size={14} aria-hidden />}
          onClick={() => setAsking('fire')}
        >
          Fire
        </Button>
      )}
      {asking === 'fire' && <FireDialog instance={instance} transitions={byHand} why={why} onClose={close} />}
      {asking === 'retry' && (
        <ReasonDialog
          title={failed.length === 1 ? `Retry ${failed[0]?.name}` : 'Retry the step that failed'}
          text="It goes on exactly at the step that failed: what is done stays done, and its key keeps the effect from being made twice."
          action="Retry"
          run={(reason) =>
            api.retryInstance({
              id,
              ...(failed[0] !== undefined && { firing: failed[0].number }),
              ...optionalReason(reason),
            })
          }
          done="It is under way again"
          isReasonNeeded
          onClose={close}
        />
      )}
      {asking === 'edit' && data !== undefined && <EditDataDialog id={id} data={data} onClose={close} />}
      {asking === 'move' && <MoveDialog instance={instance} onClose={close} />}
      {asking === 'migrate' && inForce !== undefined && (
        <MigrateDialog id={id} version={inForce.version} onClose={close} />
      )}
      {asking === 'cancel' && (
        <ReasonDialog
          title="Cancel this instance"
          text="It ends here. Nothing that was done is undone; its history, its data and its events stay."
          action="Cancel it"
          run={(reason) => api.cancelInstance({ id, ...optionalReason(reason) })}
          done="The instance is cancelled"
          isReasonNeeded
          isDangerous
          onClose={close}
        />
      )}
    </>
  )
}
