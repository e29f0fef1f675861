// The option `--reason`: it says why, in every command. What has a reason of its own is chosen by `--with-reason`.

import { Option } from 'commander'
import { DEAD_LETTER_REASONS } from '../core/failures/dead-letter/index.ts'
import { usageError } from './failure.ts'

/** What a command that asks why is given: `--because` is the former name, which scripts use. */
export interface WhyOptions {
  readonly reason?: string
  readonly because?: string
}

export const whyOption = (): Option => new Option('--reason <text>', 'why; it is stored')
export const formerWhyOption = (): Option => new Option('--because <text>', 'why').hideHelp()

export function whyOf({ reason, because }: WhyOptions): string | undefined {
  return reason ?? because
}

/** Before `--with-reason` there was, `--reason` chose dead letters: a reason of theirs is hardly why somebody replays them. */
export function refuseFormerFilter({ reason }: WhyOptions): void {
  if (reason !== undefined && DEAD_LETTER_REASONS.some((one) => one === reason)) throw renamed(reason)
}

/** For lists, which ask nobody why. */
export const formerFilterOption = (): Option =>
  new Option('--reason <reason>', 'renamed to --with-reason').hideHelp()

export function refuseReason({ reason }: { readonly reason?: string }): void {
  if (reason !== undefined) throw renamed(reason)
}

function renamed(reason: string): Error {
  return usageError(
    '`--reason` says why something is done',
    `To choose by reason, write --with-reason ${reason}.`,
  )
}
