// Carries out a step of a flow test in which a user acts: on a definition, on dead letters, or on jobs.

import type { DefinitionKind } from '../../core/definitions/documents/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import type { ObservedRequest, OperatorTarget, TestStep } from '../../core/testing/flow-test/index.ts'
import { allPages } from './observe-world.ts'
import type { TestWorld } from './test-world.ts'

type OperatorStep = Extract<TestStep, { readonly type: 'operator' }>

const KINDS: Readonly<Record<OperatorTarget['kind'], DefinitionKind>> = {
  route: 'Route',
  workflow: 'Workflow',
  subscription: 'Subscription',
  source: 'Source',
}
const BY = { actor: 'test', reason: 'a step of the test' }
const PAGE = 200

/** What refused it, or that there was nothing to act on. */
export async function operate(world: TestWorld, step: OperatorStep): Promise<ObservedRequest['refused']> {
  try {
    const done = await act(world, step)
    return done > 0 ? null : { code: 'not_found', message: missing(step) }
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, message: error.message }
    throw error
  }
}

/** How many it was done to. */
async function act(world: TestWorld, step: OperatorStep): Promise<number> {
  const { engine, settled } = world
  const { kind, name } = step.target
  switch (step.act) {
    case 'pause':
    case 'resume': {
      const said = { by: BY.actor, reason: BY.reason }
      await settled(engine.definitions.control(DEFAULT_TENANT, KINDS[kind], name, step.act, said))
      return 1
    }
    case 'replay': {
      const letters = await openDeadLetters(world, step)
      for (const { id } of letters) await settled(engine.replay(DEFAULT_TENANT, id, { ...BY, force: true }))
      return letters.length
    }
    case 'resolve': {
      const jobs = await jobsOf(world, step, ['parked'])
      for (const { id } of jobs)
        await settled(engine.resolve(DEFAULT_TENANT, id, { ...BY, as: step.as ?? 'done' }))
      return jobs.length
    }
    case 'retry': {
      const jobs = await jobsOf(world, step, ['ready', 'parked'])
      for (const { id } of jobs) await settled(engine.retry(DEFAULT_TENANT, id, BY))
      return jobs.length
    }
  }
}

async function openDeadLetters({ reads }: TestWorld, { target, key }: OperatorStep) {
  const letters = await allPages((cursor) => reads.deadLetters({ cursor, limit: PAGE }))
  return letters.filter(
    (one) =>
      one.consumer === `${target.kind}:${target.name}` &&
      one.state !== 'resolved' &&
      one.state !== 'discarded' &&
      (key === null || one.key === key),
  )
}

async function jobsOf({ reads }: TestWorld, { target, key }: OperatorStep, states: readonly string[]) {
  const jobs = await allPages((cursor) => reads.workList({ cursor, limit: PAGE }))
  return jobs.filter(
    (one) =>
      one.consumer === `${target.kind}:${target.name}` &&
      states.includes(one.state) &&
      (key === null || one.key === key),
  )
}

const WHAT = { replay: 'open dead letter', resolve: 'parked job', retry: 'job that waits' } as const

function missing({ act: name, target, key }: OperatorStep): string {
  const what = name === 'replay' || name === 'resolve' || name === 'retry' ? WHAT[name] : 'definition'
  return `there is no ${what} of ${target.kind} ${target.name}${key === null ? '' : ` with the key ${key}`}`
}
