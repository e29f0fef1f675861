// millrace demo: a bounded stream of samples through the demo's source, and its progress.

import { setTimeout as wait } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { DEMO_COUNT_MAX, DEMO_PER_SECOND_MAX } from '../../demo/limits.ts'
import { type Answer, type Cli, handle, type Session, wholeNumber } from '../command.ts'

interface DemoOptions {
  readonly count: number
  readonly perSecond: number
}

const LOOK_MS = 250

export function addDemoCommand(program: Command, cli: Cli): void {
  const demo = program
    .command('demo')
    .description('send a stream of signed samples, while the demo definitions are deployed')
    .addOption(new Option('--count <n>', 'how many').default(60).argParser(wholeNumber(1, DEMO_COUNT_MAX)))
    .addOption(
      new Option('--per-second <n>', 'the rate').default(5).argParser(wholeNumber(1, DEMO_PER_SECOND_MAX)),
    )
  handle<DemoOptions>(demo, cli, runDemo)
  const stop = demo.command('stop').description('stop the stream')
  handle(stop, cli, async (session) => {
    const state = await session.api.post<Answer<'getDemo'>>('/v1/demo/stop')
    session.show(state, () => session.out.line(`${state.sent} were sent`))
  })
}

async function runDemo(session: Session, { count, perSecond }: DemoOptions): Promise<void> {
  const { api, out } = session
  const { sending } = await api.post<Answer<'sendDemo'>>('/v1/demo', { count, perSecond })
  if (!session.isJson) out.note(`${sending} samples, ${perSecond} a second; watch them at ${api.url}`)
  const progress = out.progress()
  let state: Answer<'getDemo'>
  try {
    for (;;) {
      state = await api.get<Answer<'getDemo'>>('/v1/demo')
      if (!state.isSending) break
      progress.update(`${state.sent} of ${state.total} sent …`)
      await wait(LOOK_MS, undefined, { signal: session.signal })
    }
  } catch (error) {
    if (session.signal.aborted) progress.end('it continues; ‘millrace demo stop’ stops it')
    throw error
  } finally {
    progress.end()
  }
  const { sent, total } = state
  session.show({ sent, total }, () => out.line(`${sent} samples sent; ‘millrace events’ lists them`))
}
