// A store whose commits also publish every event and fact that they add: its row in the outbox is in the same commit (BU27). Tokens
// of workflows are published where instances are planned, which knows their previous state.

import { eventMessage, factMessage } from '../../core/store/outbox/index.ts'
import type { Commit, Store, Write } from '../../ports/store.ts'

/** `onAdded`: a commit with something to publish was applied, or may have been. */
export function makeOutboxStore<Behind extends Store>(store: Behind, onAdded: () => void): Behind {
  return {
    ...store,
    commit(commit: Commit) {
      const withOutbox = withEvents(commit)
      const committed = store.commit(withOutbox)
      if (withOutbox.writes.some(({ w }) => w === 'outbox.add')) committed.then(onAdded, onAdded)
      return committed
    },
  }
}

function withEvents(commit: Commit): Commit {
  const { tenant } = commit
  const rows = commit.writes.flatMap((write) => {
    // A fact that becomes an event was published as a fact.
    if (write.w === 'event.append') return write.isPromoted ? [] : [eventMessage({ ...write.event, tenant })]
    return write.w === 'fact.add' ? [factMessage(tenant, write.fact)] : []
  })
  if (rows.length === 0) return commit
  const added: Write = { w: 'outbox.add', rows }
  return { ...commit, writes: [...commit.writes, added] }
}
