// An issue on GitHub becomes a ticket in the tracker, once, and the ticket's number is kept as the result.

import { defineFunction, defineRoute, expr, RetryableError, TerminalError } from 'millrace'
import { z } from 'zod'

const TRACKER = process.env.TRACKER_URL ?? 'https://tracker.example.com'

export const createTicket = defineFunction({
  name: 'create_ticket',
  description: 'Opens a ticket for an issue and answers its number.',
  timeout: '20s',
  input: z.object({ repository: z.string(), issue: z.number().int(), title: z.string().min(1) }),
  async run({ repository, issue, title }, ctx) {
    const ticket = await ctx.effect(
      'create',
      (key, signal) => post({ repository, issue, title }, key, signal),
      {
        // The tracker remembers a key for a day: after a lost answer the same call is made again.
        keyTtl: '24h',
      },
    )
    ctx.log.info('ticket opened', { ticket: ticket.number })
    ctx.emit('tracker.ticket.opened', { ticket: ticket.number, repository, issue })
    return { ticket: ticket.number }
  },
})

async function post(body: object, key: string, signal: AbortSignal): Promise<{ number: number }> {
  const response = await fetch(`${TRACKER}/tickets`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
    signal,
  })
  // Both say that nothing was done. Anything else that is thrown leaves open whether there is a ticket now.
  if (response.status === 429 || response.status === 503)
    throw new RetryableError('the tracker is busy', { after: '5s' })
  if (response.status === 422)
    throw new TerminalError(`the tracker refused the issue: ${await response.text()}`)
  if (!response.ok) throw new Error(`the tracker answered ${response.status}`)
  return (await response.json()) as { number: number }
}

export default defineRoute({
  name: 'issue_to_ticket',
  description: 'Opens a ticket for every new issue.',
  on: 'github.events.issues.opened',
  key: expr`'TICKET:' + payload.repository.id + ':' + payload.issue.number`,
  retry: { attempts: 4, delays: ['1s', '10s', '1m'] },
  do: createTicket.with({
    repository: '{{ payload.repository.full_name }}',
    issue: '{{ payload.issue.number }}',
    title: '{{ payload.issue.title }}',
  }),
})
