// npm run bench -- --record: the table of the documents. Every scenario runs once per round, so that all of a round meet the same machine;
// a share is taken within its round, before the median.

import { BARE, RECORDED } from './plans.ts'
import type { Measured } from './results.ts'
import type { Runner } from './run-plan.ts'
import type { Measurement } from './scenario.ts'
import { spreadOf, spreadOfKnown } from './statistics.ts'

export async function measureRecorded(
  runner: Runner,
  rounds: number,
  say: (text: string) => void,
): Promise<readonly Measured[]> {
  const seen = new Map<string, Measurement[]>(RECORDED.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const plan of RECORDED) {
      say(`${plan.name} (${round + 1} of ${rounds}) …`)
      seen.get(plan.name)?.push(await runner.run(plan, round))
    }
  }
  const rows: Measured[] = []
  for (const plan of RECORDED) {
    const { name, asked, yardstick = BARE } = plan
    const all = seen.get(name) ?? []
    const beside = plan === yardstick || plan.flows === null ? null : (seen.get(yardstick.name) ?? null)
    const known = (of: (one: Measurement) => number | null, digits = 0) => spreadOfKnown(all.map(of), digits)
    const always = (of: (one: Measurement) => number, digits = 0) => spreadOf(all.map(of), digits)
    say(`${name}: counting …`)
    rows.push({
      name,
      of: beside === null ? null : yardstick.name,
      asked: beside === null ? null : asked,
      share:
        beside === null
          ? null
          : spreadOf(
              all.map((one, round) => one.perSecond / (beside[round]?.perSecond ?? Number.NaN)),
              3,
            ),
      perSecond: always((one) => one.perSecond),
      cpuUs: always((one) => one.cpuUsPerEvent),
      mainCpuUs: known((one) => one.mainCpuUsPerEvent),
      bytes: known((one) => one.bytesPerEvent),
      flushes: known((one) => one.flushesPerEvent, 3),
      rssMb: always((one) => one.rssMb),
      calls: await runner.count(plan),
      errors: all.reduce((sum, { errors }) => sum + errors, 0),
    })
  }
  return rows
}
