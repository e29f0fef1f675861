// What the commands print: `--help` of each, and every command that lists, shows or acts on something, over a node that does the same in
// every run: in a pipe, on a terminal and as JSON, with the requests that it sent.

import type { Command } from 'commander'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeTestCli, runCli } from '../src/cli/cli.fixture.ts'
import { makeProgram } from '../src/cli/program.ts'
import { ADMIN, type RecordedNode, startRecordedNode } from './support/recorded-node.ts'
import { askEverything, makeRecorder } from './support/recorded-requests.ts'

let node: RecordedNode
const url = 'http://recorded.example'
const sent: string[] = []

beforeAll(async () => {
  node = await startRecordedNode({
    onRequest: (method, address, body) =>
      sent.push(`${method} ${address}${body === undefined ? '' : ` ${body}`}`),
  })
  await askEverything(node, makeRecorder(node, []))
  // Without sockets: how long one takes would decide how far the node's time goes.
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    const { statusCode, headers, rawPayload } = await node.server.app.inject({
      method: (init.method ?? 'GET') as 'GET',
      url: address.slice(url.length),
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(init.body != null && { payload: init.body as string }),
    })
    const hasNone = statusCode === 204 || rawPayload.length === 0
    return new Response(hasNone ? null : new Uint8Array(rawPayload), {
      status: statusCode,
      headers: headers as Record<string, string>,
    })
  })
  vi.useFakeTimers({ toFake: ['Date'], now: node.now() })
})
afterAll(async () => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  await node.close()
})

const everyCommand = (command: Command, path: readonly string[] = []): readonly (readonly string[])[] =>
  command.commands.flatMap((one) => {
    const below = [...path, one.name()]
    return [below, ...everyCommand(one, below)]
  })

test('the help of every command is as recorded', async () => {
  const commands = everyCommand(makeProgram(makeTestCli().cli)).filter((path) => path.at(-1) !== 'help')
  expect(commands.length).toBeGreaterThan(100)
  const texts = await Promise.all(
    [[], ...commands].map(async (path) => {
      const { code, stdout, stderr } = await runCli([...path, '--help'], {
        columns: 100,
        env: { NO_COLOR: '1' },
      })
      return `$ millrace ${path.join(' ')} --help\n${code}\n${stdout}${stderr}`
    }),
  )
  await expect(texts.join('\n')).toMatchFileSnapshot('recorded/help.txt')
})

// biome-ignore lint/suspicious/noExplicitAny: rows are read for their ids.
const rowsOf = async (address: string): Promise<readonly any[]> =>
  JSON.parse((await node.call({ method: 'GET', url: address })).text).items

test('every command that lists, shows or acts prints as recorded', async () => {
  const first = async (address: string, name = 'id') => String((await rowsOf(address))[0][name])
  const event = await first('/v1/events?subject=shop.events.paid')
  const job = await first('/v1/work')
  const letters = (await rowsOf('/v1/dead-letters')).map(({ id }) => id)
  const failure = await first('/v1/failures')
  const escalation = await first('/v1/escalations')
  const instances = (await rowsOf('/v1/workflows/case/instances')).map(({ id }) => id)
  const orphan = await first('/v1/orphans')
  const delivery = await first('/v1/webhooks/deliveries')
  const replay = await first('/v1/replays')
  const key = await first('/v1/keys')
  const run = await first('/v1/integrations/runs')
  const hook = 'hook-example'
  const lines = `
events
events -n 1
events --source shop
events --unmatched
events ${event}
events none
events --limit x
explain ${event}
catalog
catalog shop.events.paid
catalog none.events
rejections
work
work -n 2
work --state dead
work --state none
work ${job}
work none
work retry ${job} --reason again
work cancel ${job} --reason no
work resolve ${job} --as done --reason it
work probe ${job} --reason look
work leave-lane ${job} --reason no
lanes
ledger
ledger --state unknown
ledger book:done
unknowns
refused-code
refused-code ${'ab'.repeat(32)}
sign-code ${'ab'.repeat(32)} --reason seen
pace
pace book
pace none
pace close-circuit book --reason well
pace close-workflow-circuit case --part trigger/0 --reason well
workflows
workflows case
workflows none
workflows start case
workflows migrate case --dry-run
instances
instances --workflow case
instances --workflow case --place open -n 1
instances ${instances[0]}
instances none
instances why ${instances[0]}
instances why ${instances[0]} close
instances history ${instances[0]}
instances fire ${instances[0]} close
instances retry ${instances[0]}
instances move ${instances[0]} --from waiting --to open --reason x
instances edit ${instances[0]} --set data.note="x" --dry-run
instances migrate ${instances[0]} --dry-run
instances cancel ${instances[1]} --reason no
orphans
orphans -n 1
orphans --state open
orphans --workflow case
orphans ${orphan}
orphans none
orphans discard ${orphan} --reason no
orphans retry case
orphans correlate ${orphan} --instance ${instances[0]}
orphans correlate ${orphan}
subscriptions
subscriptions --status paused
subscriptions ${hook}
subscriptions none
subscriptions pause ${hook} --reason p
subscriptions enable ${hook}
subscriptions disable ${hook}
subscriptions resume ${hook}
subscriptions test ${hook}
subscriptions rotate ${hook}
subscriptions reveal ${hook}
subscriptions recover ${hook} --since 1d --dry-run
subscriptions patch ${hook} --description other
subscriptions create made --endpoint http://hook.example/200 --on a.b
subscriptions delete made --yes
deliveries
deliveries -n 1
deliveries --state delivered
deliveries --subscription ${hook}
deliveries ${delivery}
deliveries none
deliveries retry ${delivery} --reason again
deliveries cancel ${delivery} --reason no
providers
providers acme
providers none
connections
connections account
connections none
connections test account
connections health account
connections circuit account open --reason x
connections retire account --reason x
credentials
credentials acme_key
credentials none
credentials rotate acme_key --reason x
runs
runs -n 1
runs --connection account
runs ${run}
runs none
dead-letters
dead-letters -n 2
dead-letters --state open
dead-letters groups
dead-letters ${letters[0]}
dead-letters none
dead-letters ready ${letters[0]}
dead-letters discard ${letters[1]} --reason no
dead-letters replay ${letters[0]}
failures
failures -n 1
failures ${failure}
failures none
escalations
escalations ${escalation}
escalations ack ${escalation} --note mine
escalations none
replay --dry-run
replay events ${event} --dry-run
replays
replays -n 1
replays ${replay}
replays none
replays cancel ${replay}
secrets list
secrets rewrap
secrets promote NONE
secrets delete NONE
keys list
keys create made --role viewer
keys revoke ${key}
tenants list
tenants create made
definitions
definitions book
definitions Route/book
definitions none
versions
pause book
resume book
disable book --reason x
resume book
vars set batch 25
vars
vars get batch
vars get none
vars set crm https://crm.example --env PROD
`
    .trim()
    .split('\n')
  const texts: string[] = []
  for (const line of lines) {
    for (const [how, more, columns] of [
      ['pipe', [], undefined],
      ['terminal', [], 100],
      ['json', ['--json'], undefined],
    ] as const) {
      sent.length = 0
      const env = { MILLRACE_URL: url, MILLRACE_KEY: ADMIN, NO_COLOR: '1' }
      const args = [...line.split(' '), ...more]
      const { code, stdout, stderr } = await node.wait(
        runCli(args, { env, ...(columns !== undefined && { columns }) }),
      )
      const asked = sent.map((one) => `> ${one}\n`).join('')
      texts.push(
        `$ millrace ${line} (${how})\n${asked}${code}\n${stdout}${stderr}`.replaceAll(url, 'http://node'),
      )
    }
    await node.settle()
    vi.setSystemTime(node.now())
  }
  await expect(texts.join('\n')).toMatchFileSnapshot('recorded/commands.txt')
})
