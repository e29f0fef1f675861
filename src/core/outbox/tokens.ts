// What a change of an instance tells of its tokens: those that came into a place, and those that left one.
//
// Invariant: what was told last of each subject says where the tokens of active instances are. An instance that ended has none.

import type { TenantId } from '../ids/index.ts'
import type { Instance } from '../instance/index.ts'
import type { NewOutboxRow } from './outbox.ts'
import { tokenId, tokenSubject } from './subjects.ts'

export type Marked = Pick<Instance, 'id' | 'workflow' | 'state' | 'marking' | 'revision'>

/** What is told of a token that came. `since` is added when it is told: only the store knows when it was. */
export interface TokenTold {
  readonly tenant: TenantId
  readonly workflow: string
  readonly instance: string
  readonly place: string
  readonly token: string
}

/** `before`: null for an instance that is new. */
export function tellTokens(tenant: TenantId, before: Marked | null, after: Marked): readonly NewOutboxRow[] {
  const were = before === null ? new Map() : tokensOf(tenant, before)
  const are = tokensOf(tenant, after)
  const told: Pick<NewOutboxRow, 'subject' | 'body'>[] = []
  for (const subject of were.keys()) if (!are.has(subject)) told.push({ subject, body: null })
  for (const [subject, token] of are) {
    if (!were.has(subject)) told.push({ subject, body: JSON.stringify(token) })
  }
  return told.map((row, index) => ({
    ...row,
    id: `${after.id}.${after.revision}.${index}`,
    about: 'token',
    event: null,
  }))
}

function tokensOf(
  tenant: TenantId,
  { id, workflow, state, marking }: Marked,
): ReadonlyMap<string, TokenTold> {
  const tokens = new Map<string, TokenTold>()
  if (state !== 'active') return tokens
  for (const place of Object.keys(marking).sort()) {
    for (let number = 1; number <= (marking[place] as number); number += 1) {
      const token = tokenId(id, number)
      tokens.set(tokenSubject(tenant, workflow, place, token), {
        tenant,
        workflow,
        instance: id,
        place,
        token,
      })
    }
  }
  return tokens
}
