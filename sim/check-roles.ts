// ND6 and ND7: who claims work, in whose hands it is born, and who does what goes by the clock.

import type { Role } from '../src/core/queue/node-role/index.ts'
import type { WorkRow } from '../src/core/queue/work/index.ts'
import type { Commit } from '../src/ports/store.ts'
import type { Outcome } from './data.ts'
import { type Life, short } from './node.ts'
import type { Observations } from './run-observations.ts'
import { CLOCKWORK } from './scenario.ts'

export interface RoleChecks {
  applied(life: Life, commits: readonly Commit[], outcomes: readonly Outcome[]): void
  claimed(life: Life, work: readonly Pick<WorkRow, 'id' | 'kind'>[]): void
  /** Retention takes something away, or looks whether it may. */
  pruned(life: Life): void
}

export function makeRoleChecks({ observations }: { readonly observations: Observations }): RoleChecks {
  const roleOf = ({ kind }: Pick<WorkRow, 'kind'>): Role => (kind === 'delivery' ? 'deliver' : 'work')

  const held = (life: Life, work: Pick<WorkRow, 'id' | 'kind'>, how: string) => {
    if (!life.roles.has(roleOf(work)))
      observations.violate(
        'ND6',
        `${life.name} ${how} ${work.kind} ${short(work.id)} without the role ${roleOf(work)}`,
      )
  }
  const timed = (life: Life, what: string) => {
    if (!life.roles.has('schedule'))
      observations.violate('ND7', `${life.name} ${what} without the role schedule`)
  }

  return {
    applied(life, commits, outcomes) {
      for (const [index, { writes }] of commits.entries()) {
        const outcome = outcomes[index]
        if (outcome?.ok !== true) continue
        for (const write of writes) {
          if (write.w === 'work.add' && outcome.leased.includes(write.work.id))
            held(life, { id: write.work.id, kind: write.work.kind ?? 'route' }, 'bears')
          if (write.w === 'event.append' && write.event.source === CLOCKWORK.name) timed(life, 'fires a slot')
        }
      }
    },
    claimed(life, work) {
      for (const one of work) held(life, one, 'claims')
    },
    pruned: (life) => timed(life, 'prunes'),
  }
}
