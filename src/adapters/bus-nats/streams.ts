// The streams that hold what Millrace publishes. Missing ones are created. An existing one is left as it is, and every
// difference from what would be created is a warning: a server drops settings that it does not know, and another
// configuration may be intended.

import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream'
import { DAY } from '../../core/foundation/time/index.ts'
import { TOKENS_STORED_MS } from '../../core/store/outbox/index.ts'

const NANOS_PER_MS = 1_000_000
const KEPT_MS = 7 * DAY
const DUPLICATES_MS = 120_000

export type Wanted = Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] }

export function tokensStream(prefix: string): string {
  return `${nameOf(prefix)}_TOKENS`
}

function nameOf(prefix: string): string {
  return prefix.toUpperCase().replaceAll('.', '_')
}

export function ownStreams(prefix: string): readonly Wanted[] {
  const both = {
    retention: 'limits',
    storage: 'file',
    discard: 'old',
    duplicate_window: DUPLICATES_MS * NANOS_PER_MS,
  } as const
  return [
    {
      ...both,
      name: `${nameOf(prefix)}_EVENTS`,
      subjects: [`${prefix}.*.events.>`],
      max_age: KEPT_MS * NANOS_PER_MS,
    },
    // The last message of a token's subject says where the token is; an empty one says that it left.
    {
      ...both,
      name: tokensStream(prefix),
      subjects: [`${prefix}.*.workflows.>`],
      max_msgs_per_subject: 1,
      max_age: TOKENS_STORED_MS * NANOS_PER_MS,
    },
  ]
}

/**
 * Returns one sentence per difference, whether the stream writes to a disk at all, and its identity: a recreated stream
 * has another birth.
 */
export async function ensureStream(
  manager: JetStreamManager,
  wanted: Wanted,
): Promise<{ readonly warnings: readonly string[]; readonly isInMemory: boolean; readonly birth: string }> {
  const { config, isNew, birth } = await findOrMake(manager, wanted)
  const warnings = compareStream(wanted, config).map(({ setting, asked, is }) =>
    isNew
      ? `the server did not take ${setting} of the stream ${wanted.name}: asked for ${asked}, it is ${is}; use a newer server, or mind the difference`
      : `the stream ${wanted.name} was there before with ${setting} ${is}, Millrace would make it ${asked}; it is left as it is`,
  )
  return { warnings, isInMemory: config.storage === 'memory', birth }
}

async function findOrMake(
  manager: JetStreamManager,
  wanted: Wanted,
): Promise<{ config: StreamConfig; isNew: boolean; birth: string }> {
  const read = async () => {
    const { config, created } = await manager.streams.info(wanted.name)
    return { config, isNew: false, birth: created }
  }
  try {
    return await read()
  } catch (error) {
    if (!isCode(error, JetStreamApiCodes.StreamNotFound)) throw error
  }
  try {
    const { config, created } = await manager.streams.add({ ...wanted })
    return { config, isNew: true, birth: created }
  } catch (error) {
    // Another node was faster: the server reports the name as in use only if the settings differ.
    if (isCode(error, NAME_IN_USE)) return read()
    throw error
  }
}

const NAME_IN_USE = 10_058

export function isCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code
}

interface Difference {
  readonly setting: string
  readonly asked: string
  readonly is: string
}

/** Compares only settings that were asked for; a setting left open asks for nothing. */
function compareStream(asked: Partial<StreamConfig>, is: Partial<StreamConfig>): readonly Difference[] {
  const got: Readonly<Record<string, unknown>> = { ...is }
  return Object.entries(asked)
    .map(([setting, value]) => ({ setting, asked: text(value), is: text(got[setting]) }))
    .filter((one) => one.asked !== one.is)
}

function text(value: unknown): string {
  return value === undefined ? 'not set' : typeof value === 'string' ? value : JSON.stringify(value)
}
