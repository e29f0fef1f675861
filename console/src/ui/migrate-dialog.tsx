// Migrating one instance to the deployed version: the changes are shown before it can be done.

import { useQuery } from '@tanstack/react-query'
import { api, planMigration, problemOf } from '../api.ts'
import { markingInWords } from '../lib/workflow-words.ts'
import { optionalReason, ReasonDialog } from './actions.tsx'
import { Button } from './controls.tsx'
import { Changes } from './data-changes.tsx'
import { Dialog, Note, SkeletonRows } from './surfaces.tsx'

interface MigrateDialogProps {
  readonly id: string
  readonly version: string
  readonly onClose: () => void
}

export function MigrateDialog({ id, version, onClose }: MigrateDialogProps) {
  const { data: plan, error } = useQuery({
    queryKey: ['migrate-instance', id],
    queryFn: () => planMigration(id),
    staleTime: 0,
  })
  const title = `Migrate to version ${version}`
  if (plan?.ok === true) {
    return (
      <ReasonDialog
        title={title}
        text={
          <div className="move">
            <p>
              {markingInWords(plan.before)} → {markingInWords(plan.after)}. {plan.message}
            </p>
            {plan.changes.length > 0 && <Changes changes={plan.changes} />}
          </div>
        }
        action="Migrate it"
        run={(reason) => api.migrateInstance({ id, dryRun: false, ...optionalReason(reason) })}
        done="It is migrated"
        isReasonNeeded
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog title={title} onClose={onClose} foot={<Button onClick={onClose}>Back</Button>}>
      {plan === undefined && error === null && <SkeletonRows count={2} />}
      {plan !== undefined && (
        <Note tone="amber">
          <strong>It has to stay on version {plan.from}.</strong> {plan.message}
        </Note>
      )}
      {error !== null && <Note tone="red">{problemOf(error).detail}</Note>}
    </Dialog>
  )
}
