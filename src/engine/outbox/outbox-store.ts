// A store whose commits also publish every event that they append: its row in the outbox is in the same commit (BU27). Tokens
// of workflows are published where instances are planned, which knows their previous state.

import { tellEvent } from '../../core/store/outbox/index.ts'
import type { Commit, Store, Write } from '../../ports/store.ts'

/** `onTold`: a commit with something to publish was applied, or may have been. */
export function makeMirrorStore<Behind extends Store>(store: Behind, onTold: () => void): Behind {
  return {
    ...store,
    commit(commit: Commit) {
      const told = withEvents(commit)
      const committed = store.commit(told)
      if (told.writes.some(({ w }) => w === 'outbox.add')) committed.then(onTold, onTold)
      return committed
    },
  }
}

function withEvents(commit: Commit): Commit {
  const rows = commit.writes.flatMap((write) =>
    write.w === 'event.append' ? [tellEvent({ ...write.event, tenant: commit.tenant })] : [],
  )
  if (rows.length === 0) return commit
  const tell: Write = { w: 'outbox.add', rows }
  return { ...commit, writes: [...commit.writes, tell] }
}
