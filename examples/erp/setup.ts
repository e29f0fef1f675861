// A project that is approved is set up in the ERP, in ten steps that build on each other. Each makes one object, once: after a
// crash the set-up goes on where it was, and when a step fails for good, what is there is removed again, newest first.

import {
  defineFunction,
  defineWorkflow,
  expr,
  type HttpActionDefinition,
  RetryableError,
  TerminalError,
} from 'millrace'
import { z } from 'zod'

const ERP = process.env.ERP_URL ?? 'http://127.0.0.1:4501'

/** Of one call. Nothing is asked about a call that got lost before it is over. */
const TIMEOUT = '20s'
const RETRY = { attempts: 4, delays: ['1s', '5s', '30s'] } as const

/** Most objects of this ERP have no idempotency key, and are made twice if they are asked for twice. So it is asked first. */
const make = (
  kind: string,
  step: number,
  fields: Readonly<Record<string, string>>,
): HttpActionDefinition => ({
  timeout: TIMEOUT,
  http: {
    method: 'POST',
    url: `${ERP}/${kind}`,
    body: { ref: '{{ key }}', step, project: '{{ data.project }}', ...fields },
    probe: {
      url: `${ERP}/${kind}?ref={{ key }}`,
      found: expr`result.body.items.size() > 0`,
      after: '2s',
    },
  },
})

/** Something that is not there any more is removed as well. */
const remove = (kind: string, id: string): HttpActionDefinition => ({
  timeout: TIMEOUT,
  http: { method: 'DELETE', url: `${ERP}/${kind}/{{ ${id} }}` },
  classify: { 404: 'done' },
})

/** The answer to a call has the id, and the answer to a probe has it in a list. */
const MADE = expr`coalesce(result.body.id, result.body.items[0].id)`

export const bookBudget = defineFunction({
  name: 'book_budget',
  description: 'Books the budget of a project, in two postings.',
  timeout: TIMEOUT,
  input: z.object({ project: z.string(), budget: z.number() }),
  async run({ project, budget }, ctx) {
    const post = (name: string, amount: number) =>
      ctx.effect(
        name,
        async (key, signal) => {
          const response = await fetch(`${ERP}/postings`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'idempotency-key': key },
            body: JSON.stringify({ ref: key, step: 9, project, name, amount }),
            signal,
          })
          if (response.status === 503) throw new RetryableError('the ERP is busy', { after: '5s' })
          if (response.status === 422) throw new TerminalError('the ERP refused the posting')
          if (!response.ok) throw new Error(`the ERP answered ${response.status}`)
          return (await response.json()) as { id: string }
        },
        // A posting is remembered by its key for a day.
        { keyTtl: '24h' },
      )
    const labour = await post('labour', Math.round(budget * 0.8))
    const material = await post('material', budget - Math.round(budget * 0.8))
    return { labour: labour.id, material: material.id }
  },
})

export const cancelBudget = defineFunction({
  name: 'cancel_budget',
  description: 'Takes both postings back, the last one first.',
  timeout: TIMEOUT,
  input: z.object({ labour: z.string(), material: z.string() }),
  async run({ labour, material }, ctx) {
    const cancel = (name: string, id: string) =>
      ctx.effect(
        name,
        async (_key, signal) => {
          const response = await fetch(`${ERP}/postings/${id}`, { method: 'DELETE', signal })
          if (!response.ok && response.status !== 404)
            throw new RetryableError(`the ERP answered ${response.status}`, { after: '5s' })
          return null
        },
        { idempotent: true },
      )
    await cancel('material', material)
    await cancel('labour', labour)
    return null
  },
})

export const erpSetup = defineWorkflow({
  name: 'erp_setup',
  description: 'Sets an approved project up in the ERP.',
  version: '1.0.0',
  start: 'approved',
  data: z.object({
    project: z.string(),
    budget: z.number(),
    erp_project: z.string().optional(),
    wbs: z.string().optional(),
  }),
  // Two set-ups of one project never meet; those of several projects go on side by side.
  lock: { by: 'data.project', ttl: '30m', whenHeld: 'wait' },
  maxConcurrent: 40,
  onFailure: { undo: 'done-steps', through: 'rolling_back', to: 'failed' },
  triggers: [
    {
      on: 'workfront.events.project.approved',
      correlate: { project: 'payload.project.id' },
      unique: 'live',
      map: { project: 'payload.project.id', budget: 'payload.project.budget' },
    },
  ],
  places: {
    approved: {},
    has_project: {},
    has_wbs: {},
    has_design: {},
    has_build: {},
    has_cost_center: {},
    has_allocation_plan: {},
    has_financial_plan: {},
    has_settlement: {},
    has_budget: {},
    ready: { final: true },
    rolling_back: {},
    failed: { type: 'error' },
  },
  transitions: {
    create_project: {
      from: 'approved',
      to: 'has_project',
      do: make('projects', 1, {}),
      out: { erp_project: MADE },
      undo: remove('projects', 'data.erp_project'),
      retry: RETRY,
    },
    create_wbs: {
      from: 'has_project',
      to: 'has_wbs',
      do: make('wbs', 2, { level: '1', parent: '{{ data.erp_project }}' }),
      out: { wbs: MADE },
      undo: remove('wbs', 'data.wbs'),
      retry: RETRY,
    },
    create_wbs_design: {
      from: 'has_wbs',
      to: 'has_design',
      do: make('wbs', 3, { level: '2', parent: '{{ data.wbs }}', name: 'design' }),
      undo: remove('wbs', MADE),
      retry: RETRY,
    },
    create_wbs_build: {
      from: 'has_design',
      to: 'has_build',
      do: make('wbs', 4, { level: '2', parent: '{{ data.wbs }}', name: 'build' }),
      undo: remove('wbs', MADE),
      retry: RETRY,
    },
    create_cost_center: {
      from: 'has_build',
      to: 'has_cost_center',
      do: make('cost-centers', 5, { parent: '{{ data.wbs }}' }),
      undo: remove('cost-centers', MADE),
      retry: RETRY,
    },
    post_allocation_plan: {
      from: 'has_cost_center',
      to: 'has_allocation_plan',
      do: make('plans', 6, { sort: 'allocation' }),
      undo: remove('plans', MADE),
      retry: RETRY,
    },
    post_financial_plan: {
      from: 'has_allocation_plan',
      to: 'has_financial_plan',
      do: make('plans', 7, { sort: 'financial' }),
      undo: remove('plans', MADE),
      retry: RETRY,
    },
    set_settlement_rule: {
      from: 'has_financial_plan',
      to: 'has_settlement',
      do: make('settlement-rules', 8, { wbs: '{{ data.wbs }}' }),
      undo: remove('settlement-rules', MADE),
      retry: RETRY,
    },
    book_budget: {
      from: 'has_settlement',
      to: 'has_budget',
      do: bookBudget.with({ project: '{{ data.project }}', budget: '{{ data.budget }}' }),
      undo: cancelBudget.with({ labour: '{{ result.labour }}', material: '{{ result.material }}' }),
      retry: RETRY,
    },
    release: {
      from: 'has_budget',
      to: 'ready',
      do: make('releases', 10, { erp_project: '{{ data.erp_project }}' }),
      undo: remove('releases', MADE),
      retry: RETRY,
    },
  },
})
