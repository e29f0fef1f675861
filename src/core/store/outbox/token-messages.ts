// The messages about an instance's tokens that a change causes: tokens that entered a place, tokens that left one, and tokens
// whose data changed.
//
// Invariant: the last message of each subject says where the tokens of active instances are. An instance that ended has none.

import type { TenantId } from '../../foundation/ids/index.ts'
import { type JsonValue, stringifyJson } from '../../foundation/json/index.ts'
import { DAY, type Instant } from '../../foundation/time/index.ts'
import type { Data, Instance } from '../../workflows/instance/index.ts'
import { tokenId, tokenSubject } from './bus-subjects.ts'
import type { NewOutboxRow } from './outbox.ts'

export type Marked = Pick<Instance, 'id' | 'workflow' | 'state' | 'marking' | 'revision'>

/** How long the bus retains a token's message: that of a token that left then expires by itself. */
export const TOKENS_STORED_MS = 30 * DAY
/** Tokens that stay are therefore republished long before. */
export const TOKENS_REPUBLISHED_EVERY_MS = 7 * DAY

/**
 * The message about a token that entered. `since` is added when it is published, unless present: only the store knows the
 * instant.
 */
export interface TokenMessage {
  readonly tenant: TenantId
  readonly workflow: string
  readonly instance: string
  readonly place: string
  readonly token: string
  readonly since?: string
  /** Of the instance, where the bus may have it. */
  readonly data?: Data
}

export interface PublishedData {
  readonly data: Data
  /** By this change. */
  readonly isChanged: boolean
}

/** `before`: null for a new instance. `published`: null: the bus does not get its data. */
export function tokenMessages(
  tenant: TenantId,
  before: Marked | null,
  after: Marked,
  published: PublishedData | null = null,
): readonly NewOutboxRow[] {
  const were = before === null ? new Map() : tokensOf(tenant, before)
  const are = tokensOf(tenant, after)
  const messages: Pick<NewOutboxRow, 'subject' | 'body'>[] = []
  for (const subject of were.keys()) if (!are.has(subject)) messages.push({ subject, body: null })
  for (const [subject, token] of are) {
    if (!were.has(subject) || published?.isChanged === true)
      messages.push({ subject, body: bodyOf(token, published?.data) })
  }
  return messages.map((row, index) => ({
    ...row,
    id: `${after.id}.${after.revision}.${index}`,
    about: 'token',
    event: null,
  }))
}

/** All tokens of an instance, for a bus that may not know them. `round` differs each time they are republished. */
export function republishTokens(
  tenant: TenantId,
  instance: Marked & { readonly updatedAt: Instant },
  round: string,
  data?: Data,
): readonly NewOutboxRow[] {
  const since = new Date(instance.updatedAt).toISOString()
  return [...tokensOf(tenant, instance)].map(([subject, token], index) => ({
    id: `${instance.id}.${instance.revision}.${round}.${index}`,
    subject,
    about: 'token',
    event: null,
    body: bodyOf({ ...token, since }, data),
  }))
}

/** Numbers as they were written. */
function bodyOf(token: TokenMessage, data: Data | undefined): string {
  return stringifyJson({ ...token, ...(data === undefined ? {} : { data }) } as unknown as JsonValue)
}

function tokensOf(
  tenant: TenantId,
  { id, workflow, state, marking }: Marked,
): ReadonlyMap<string, TokenMessage> {
  const tokens = new Map<string, TokenMessage>()
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
