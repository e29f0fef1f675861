// The normal form of a workflow: maps become lists in the order written, a bare target is under `data`, names become
// lists.

import type {
  MigrationDocument,
  OnFailureDocument,
  PlaceDocument,
  TransitionDocument,
  TriggerDocument,
  WorkflowDocument,
} from '../core/definitions/documents/index.ts'
import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { HOUR, MINUTE } from '../core/foundation/time/index.ts'
import { RETRY_PROFILES } from '../core/queue/retry/index.ts'
import { type Known, MAX_WAIT_MS, resolveRetry, retryOfAgent } from './resolve.ts'
import { resolveAction } from './resolve-actions.ts'
import { resolveRate } from './resolve-buffers.ts'
import type { WorkflowInput } from './schema.ts'
import type {
  MigrationInput,
  OnFailureInput,
  PlaceInput,
  TransitionInput,
  TriggerInput,
} from './schema-workflows.ts'

/** How long an update waits for its instance, if its trigger does not say. */
const BUFFER_MS = HOUR
const LOCK_TTL_MS = 30 * MINUTE
export const USUAL_VERSION = '1.0.0'
/** The name of a bare string under `correlate`. */
const USUAL_KEY = 'default'

/** null: it names a profile, an agent or a provider that is not valid. */
export function resolveWorkflow(input: WorkflowInput, known: Known): WorkflowDocument | null {
  const places = Object.entries(input.places).map(([name, place]) => resolvePlace(name, place, known))
  const transitions = Object.entries(input.transitions).map(([name, one]) =>
    resolveTransition(name, one, known),
  )
  const triggers = input.triggers.map((trigger, index) => resolveTrigger(String(index), trigger, known))
  if (!areAll(places) || !areAll(transitions) || !areAll(triggers)) return null
  return {
    kind: 'Workflow',
    name: input.name,
    description: input.description ?? null,
    version: input.version ?? USUAL_VERSION,
    status: input.status ?? 'active',
    start: input.start,
    places,
    transitions,
    triggers,
    deadLetter: {
      severity: input.deadLetter?.severity ?? 'medium',
      runbook: input.deadLetter?.runbook ?? null,
    },
    ...resolveRest(input),
  }
}

function areAll<T>(list: readonly (T | null)[]): list is readonly T[] {
  return !list.includes(null)
}

function resolveRest(input: WorkflowInput): Partial<WorkflowDocument> {
  const { lock, compatibility, security, migrations = [] } = input
  return {
    ...(input.data === undefined ? {} : { data: input.data as JsonValue }),
    ...(lock === undefined
      ? {}
      : {
          lock: {
            by: lock.by,
            ttlMs: milliseconds(lock.ttl, LOCK_TTL_MS),
            whenHeld: lock.whenHeld ?? 'wait',
            // Written or not, its own name is the same document.
            ...(lock.name === undefined || lock.name === input.name ? {} : { name: lock.name }),
          },
        }),
    ...(input.maxConcurrent === undefined ? {} : { maxConcurrent: input.maxConcurrent }),
    ...(input.onFailure === undefined ? {} : { onFailure: resolveOnFailure(input.onFailure) }),
    ...(compatibility === undefined
      ? {}
      : {
          compatibility: {
            supported: compatibility.supported ?? [],
            deprecationWarnings: compatibility.deprecationWarnings ?? true,
            strict: compatibility.strict ?? false,
          },
        }),
    ...(migrations.length === 0 ? {} : { migrations: migrations.map(resolveMigration) }),
    ...(security === undefined
      ? {}
      : {
          security: {
            permissions: security.permissions ?? [],
            ...(security.required === undefined ? {} : { required: security.required }),
            ...(security.classification === undefined ? {} : { classification: security.classification }),
            encrypt: (security.encrypt ?? []).map(targetPath),
            audit: security.audit ?? 'full',
          },
        }),
  }
}

function resolvePlace(name: string, input: PlaceInput, known: Known): PlaceDocument | null {
  const { description, timeout } = input
  const onEnter = input.onEnter === undefined ? undefined : resolveAction(input.onEnter, 'step', known)
  if (onEnter === null) return null
  return {
    name,
    type: input.type ?? (input.final === true ? 'final' : 'normal'),
    ...(description === undefined ? {} : { description }),
    ...(timeout === undefined
      ? {}
      : { timeout: { afterMs: milliseconds(timeout.after, 0), fire: timeout.fire } }),
    ...(onEnter === undefined ? {} : { onEnter }),
  }
}

function resolveTransition(name: string, input: TransitionInput, known: Known): TransitionDocument | null {
  const action = input.do === undefined ? undefined : resolveAction(input.do, 'step', known)
  const said = input.retry === undefined ? RETRY_PROFILES.STEP : resolveRetry(input.retry, known)
  const retry = retryOfAgent(input, action) ?? said
  const undo = input.undo === undefined ? undefined : resolveAction(input.undo, 'step', known)
  if (retry === null || action === null || undo === null) return null
  const { description, choose, onFailure, permission, notBy } = input
  const fromAny = namesOf(input.fromAny)
  return {
    name,
    ...(description === undefined ? {} : { description }),
    from: namesOf(input.from),
    ...(fromAny.length === 0 ? {} : { fromAny }),
    to: namesOf(input.to),
    ...(choose === undefined
      ? {}
      : {
          choose: choose.map((branch) => ({
            when: (branch.when ?? null) as JsonValue,
            to: namesOf(branch.to),
          })),
        }),
    on: input.on ?? 'auto',
    when: (input.when ?? null) as JsonValue,
    ...(action === undefined ? {} : { do: action }),
    out: resolveTargets(input.out),
    key: input.key ?? null,
    retry,
    maxWaitMs: milliseconds(input.maxWait, MAX_WAIT_MS),
    ...(undo === undefined ? {} : { undo }),
    ...(onFailure === undefined
      ? {}
      : { onFailure: onFailure === 'none' ? 'none' : resolveOnFailure(onFailure) }),
    ...(permission === undefined ? {} : { permission }),
    ...(input.input === undefined ? {} : { input: input.input as JsonValue }),
    ...(notBy === undefined ? {} : { notBy }),
  }
}

function resolveOnFailure({ undo, through, to }: OnFailureInput): OnFailureDocument {
  return { ...(undo === undefined ? {} : { undo }), ...(through === undefined ? {} : { through }), to }
}

function resolveTrigger(id: string, input: TriggerInput, known: Known): TriggerDocument | null {
  const rateLimit = resolveRate(input.rateLimit, known.profiles)
  if (rateLimit === null) return null
  const { schedule, manual, unique, fire } = input
  return {
    id,
    ...(input.on === undefined ? {} : { on: namesOf(input.on) }),
    ...(schedule === undefined
      ? {}
      : {
          schedule: {
            cron: schedule.cron,
            zone: schedule.zone ?? 'UTC',
            missed: schedule.missed ?? 'once',
            ...(schedule.maxInstances === undefined ? {} : { maxInstances: schedule.maxInstances }),
          },
        }),
    ...(manual === undefined
      ? {}
      : {
          manual: {
            ...(manual.permission === undefined ? {} : { permission: manual.permission }),
            ...(manual.input === undefined ? {} : { input: manual.input as JsonValue }),
          },
        }),
    action: input.action ?? 'create',
    where: (input.where ?? null) as JsonValue,
    correlate:
      typeof input.correlate === 'string' ? { [USUAL_KEY]: input.correlate } : (input.correlate ?? {}),
    ...(unique === undefined ? {} : { unique: unique === true ? 'live' : unique }),
    map: resolveTargets(input.map),
    ...(fire === undefined ? {} : { fire }),
    bufferMs: milliseconds(input.buffer, BUFFER_MS),
    ...(rateLimit === undefined ? {} : { rateLimit }),
  }
}

function resolveMigration({ from, to, places = {}, data = [] }: MigrationInput): MigrationDocument {
  return {
    from,
    to,
    strategy: 'inPlace',
    places,
    data: data.map((rule) => {
      if ('rename' in rule) return { rename: targetPath(rule.rename), to: targetPath(rule.to) }
      if ('delete' in rule) return { delete: targetPath(rule.delete) }
      if ('default' in rule) return { default: targetPath(rule.default), value: rule.value as JsonValue }
      return { set: targetPath(rule.set), value: rule.value }
    }),
  }
}

function resolveTargets(
  input: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(input ?? {}).map(([path, value]) => [targetPath(path), value]))
}

/** A bare target is under `data`. */
export function targetPath(path: string): string {
  return /^(?:data|metadata|correlation)(?:\.|$)/.test(path) ? path : `data.${path}`
}

function namesOf(input: string | readonly string[] | undefined): readonly string[] {
  return input === undefined ? [] : typeof input === 'string' ? [input] : input
}

function milliseconds(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : (parseDuration(text) ?? otherwise)
}
