// Which figures may stand in the documents. A single round, or one on a busy machine, says more about the machine than about the node.

import type { Origin, Results } from './results.ts'

const ROUNDS_MIN = 3
const POINTS_MIN = 2

/** The figures were not written; its message says why and what to do. */
export class NotPublishable extends Error {}

/** Why these figures must not be published; none: they may. A part that was not measured needs no figures. */
export function publishable({ table, peers, growth }: Results): readonly string[] {
  const parts = Object.entries({ table, peers, growth })
  return [
    ...parts.flatMap(([part, origin]) =>
      origin === null ? [] : findingsOf(origin).map((finding) => `${part}: ${finding}`),
    ),
    ...(growth?.series ?? [])
      .filter(({ points }) => points.length < POINTS_MIN)
      .map(({ name, points }) => `growth: the curve ${name} has ${points.length} of ${POINTS_MIN} points`),
  ]
}

/** Known before a run, so that one that cannot be published does not take a quarter of an hour. */
export function findingsOf({ rounds, loadBefore, cores }: Origin): readonly string[] {
  const findings: string[] = []
  if (!(rounds >= ROUNDS_MIN)) findings.push(`${rounds} of ${ROUNDS_MIN} rounds`)
  if (!(loadBefore < cores))
    findings.push(`load average ${loadBefore} before the run: others kept all ${cores} cores busy`)
  return findings
}
