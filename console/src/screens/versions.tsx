// Versions of the definitions: who applied what and when, and how to roll back.

import { History, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { api } from '../api.ts'
import { useMe, useVersions } from '../queries.ts'
import { optionalReason, ReasonDialog } from '../ui/actions.tsx'
import { Button, Chip, Copy, LinkButton, Time } from '../ui/controls.tsx'
import { Empty, ErrorState, PageFrame, SkeletonRows } from '../ui/surfaces.tsx'

export default function Versions() {
  const { data, error, refetch } = useVersions()
  const { data: me } = useMe()
  const [target, setTarget] = useState<number | null>(null)
  const current = data?.items.reduce((max, { version }) => Math.max(max, version), 0)
  return (
    <PageFrame
      title="Versions"
      lead="Every apply creates a version. A rollback creates a new version with the old content; running jobs stay on the version they started with."
      crumbs={[['Routes', '/routes']]}
    >
      <div className="list">
        {data === undefined &&
          (error === null ? <SkeletonRows /> : <ErrorState error={error} onRetry={() => void refetch()} />)}
        {data?.items.length === 0 && (
          <Empty
            icon={<History size={20} />}
            title="Nothing was applied yet"
            action={<LinkButton to="/definitions/edit">Apply YAML</LinkButton>}
          />
        )}
        <ul aria-label="Versions">
          {data?.items.map(({ version, hash, appliedAt, by, changes }) => (
            <li key={version} className="row versions__grid">
              <span className="row__title num">
                Version {version} {version === current && <Chip tone="green">deployed</Chip>}
              </span>
              <Copy text={hash} shown={`${hash.slice(0, 19)}…`} />
              <span className="muted num">{changes === 1 ? '1 change' : `${changes} changes`}</span>
              <span className="muted truncate">{by}</span>
              <span className="faint">
                <Time at={appliedAt} />
              </span>
              <span className="versions__action">
                {version !== current && me?.role === 'admin' && (
                  <Button
                    isSmall
                    icon={<Undo2 size={13} aria-hidden />}
                    aria-label={`Go back to version ${version}`}
                    onClick={() => setTarget(version)}
                  >
                    Go back
                  </Button>
                )}
              </span>
            </li>
          ))}
        </ul>
      </div>
      {target !== null && (
        <ReasonDialog
          title={`Go back to version ${target}`}
          text="The definitions of that version are applied as a new version. Running jobs are not affected."
          action="Go back"
          run={(reason) => api.rollbackDefinitions({ to: target, ...optionalReason(reason) })}
          done={`The content of version ${target} is deployed again`}
          onClose={() => setTarget(null)}
        />
      )}
    </PageFrame>
  )
}
