// The versions that instances are on, and their migration to the deployed one: first as a preview.

import { useMutation } from '@tanstack/react-query'
import { MoveRight } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, planMigrations, problemOf } from '../api.ts'
import { formatNumber } from '../lib/time.ts'
import { markingInWords } from '../lib/workflow-words.ts'
import type { WorkflowDetail } from '../types.ts'
import { optionalReason, ReasonDialog } from './actions.tsx'
import { Button, Chip, Copy } from './controls.tsx'
import { Changes } from './data-changes.tsx'
import { Note } from './surfaces.tsx'

export function VersionsPanel({
  workflow,
  isAdmin,
}: {
  readonly workflow: WorkflowDetail
  readonly isAdmin: boolean
}) {
  const { name, versions, definition, version } = workflow
  const [isMigrating, setIsMigrating] = useState(false)
  const look = useMutation({ mutationFn: () => planMigrations(name) })
  const isCounted = versions.some((one) => one.definition === definition)
  const rows = isCounted ? versions : [{ definition, version, count: 0 }, ...versions]
  const older = versions.filter((one) => one.definition !== definition)
  const plan = look.data
  const can = plan?.items.filter(({ ok }) => ok).length ?? 0
  return (
    <>
      <ul className="list" aria-label="Versions">
        {rows.map((one) => (
          <li key={one.definition} className="row versions-in-use">
            <span className="num">Version {one.version}</span>
            <span className="chips">
              {one.definition === definition ? <Chip tone="green">deployed</Chip> : <Chip>older</Chip>}
            </span>
            <Copy text={one.definition} shown={one.definition.slice(0, 19)} />
            <Link
              href={`/workflows/${name}?definition=${encodeURIComponent(one.definition)}`}
              className="num"
            >
              {formatNumber(one.count)} active
            </Link>
          </li>
        ))}
      </ul>
      {older.length > 0 && (
        <section className="section" aria-labelledby="migration">
          <div className="section__head">
            <h2 id="migration">Migration</h2>
          </div>
          <p className="muted spaced">
            Instances stay on the version that they began with. By the migration rules of version {version}{' '}
            they can go on under it; a look first says what would change.
          </p>
          {!isAdmin ? (
            <p className="muted">An admin can look and migrate.</p>
          ) : (
            <Button isBusy={look.isPending} onClick={() => look.mutate()}>
              Look what would change
            </Button>
          )}
          {look.error !== null && <Note tone="red">{problemOf(look.error).detail}</Note>}
          {plan !== undefined && (
            <>
              <div className="section__head migration__sum">
                <span>
                  <strong className="num">{can}</strong> can go to version {version},{' '}
                  <strong className="num">{plan.items.length - can}</strong> stay on theirs
                  {plan.nextCursor !== null && ' (of the first hundred)'}.
                </span>
                {can > 0 && (
                  <Button
                    variant="primary"
                    icon={<MoveRight size={14} aria-hidden />}
                    onClick={() => setIsMigrating(true)}
                  >
                    Migrate …
                  </Button>
                )}
              </div>
              <ul className="list" aria-label="What would change">
                {plan.items.map((one) => (
                  <li key={one.id} className="row migration__row">
                    <Link href={`/instances/${one.id}`} className="mono truncate">
                      {one.id}
                    </Link>
                    <span>{one.ok ? <Chip tone="green">can go</Chip> : <Chip tone="amber">stays</Chip>}</span>
                    <span className="migration__what">
                      <span className="muted">
                        {markingInWords(one.before)} → {markingInWords(one.after)}
                      </span>{' '}
                      <span className={one.ok ? 'faint' : undefined}>{one.message}</span>
                      {one.changes.length > 0 && <Changes changes={one.changes} />}
                    </span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </section>
      )}
      {isMigrating && (
        <ReasonDialog
          title={`Migrate to version ${version}`}
          text="Each instance that can go is changed in a commit of its own; the others stay. It cannot be taken back."
          action="Migrate"
          run={async (reason) => {
            let cursor: string | undefined
            do {
              const page = await api.migrateInstances({
                name,
                dryRun: false,
                ...(cursor !== undefined && { cursor }),
                ...optionalReason(reason),
              })
              cursor = page.nextCursor ?? undefined
            } while (cursor !== undefined)
            look.reset()
          }}
          done="They are migrated"
          isReasonNeeded
          onClose={() => setIsMigrating(false)}
        />
      )}
    </>
  )
}
