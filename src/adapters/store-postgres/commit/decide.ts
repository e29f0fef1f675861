// What a group does to the rows that it has locked: guards first, then the writes folded over the rows. Pure.
//
// Invariants: a refused commit changes no row. An absent row is inserted, a found one is updated. An insert that meets
// a row after all was overtaken by another node, and the group is executed again.

import { applyWrite } from '../../../core/store/commit/index.ts'
import type { Commit, CommitResult } from '../../../ports/store.ts'
import { type Changes, type Loaded, makeView } from './changes.ts'
import { checkGuard } from './guards.ts'
import { beginWriting, WRITE_TABLES } from './write-tables.ts'

interface Decision {
  readonly results: readonly CommitResult[]
  readonly changes: Changes
}

export function decideGroup(commits: readonly Commit[], loaded: Loaded): Decision {
  const view = makeView(loaded)
  const results = commits.map((commit): CommitResult => {
    for (const [index, guard] of commit.guards.entries()) {
      const refusal = checkGuard(view, commit.tenant, guard)
      if (refusal) return { ok: false, at: loaded.now, guard: index, found: refusal.found }
    }
    const writing = beginWriting(view, commit.tenant)
    for (const write of commit.writes) applyWrite(WRITE_TABLES, writing, write)
    return { ok: true, at: loaded.now, leased: writing.leased }
  })
  return { results, changes: view.changes }
}
