// The option `--reason`: it says why, in every command. `--with-reason` selects by the reason of the dead letters.

import { Option } from 'commander'
import { DEAD_LETTER_REASONS } from '../core/failures/dead-letter/index.ts'
import { usageError } from './failure.ts'

/** The options of a command that asks why: `--because` is the former name, which scripts use. */
export interface WhyOptions {
  readonly reason?: string
  readonly because?: string
}

export const whyOption = (): Option => new Option('--reason <text>', 'the reason (recorded)')
export const formerWhyOption = (): Option => new Option('--because <text>', 'the reason').hideHelp()

export function whyOf({ reason, because }: WhyOptions): string | undefined {
  return reason ?? because
}

/** Before `--with-reason` existed, `--reason` selected dead letters: their reason is hardly why a user replays them. */
export function refuseFormerFilter({ reason }: WhyOptions): void {
  if (reason !== undefined && DEAD_LETTER_REASONS.some((one) => one === reason)) throw renamed(reason)
}

/** For lists, which require no reason. */
export const formerFilterOption = (): Option =>
  new Option('--reason <reason>', 'renamed to --with-reason').hideHelp()

export function refuseReason({ reason }: { readonly reason?: string }): void {
  if (reason !== undefined) throw renamed(reason)
}

function renamed(reason: string): Error {
  return usageError(
    '`--reason` gives the reason of an action',
    `To choose by reason, write --with-reason ${reason}.`,
  )
}
