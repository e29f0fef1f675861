// Every command against one started node. Most run in this process, with their output captured: a separate process for
// each would take a minute more and prove the same. What only a process shows (exit codes, pipes, signals, stdin) is
// run as users and scripts run it, from the built package.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli } from '../../src/cli/cli.fixture.ts'
import { settled } from '../support/account.ts'
import {
  buildDist,
  eventually,
  type NodeProcess,
  project,
  SECRET,
  startNode,
} from '../support/node-process.ts'
import { makeWorkspace } from '../support/workspace.ts'

interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const workspace = makeWorkspace()
let node: NodeProcess

beforeAll(async () => {
  await buildDist()
  node = await startNode({ workspace })
})
afterAll(() => workspace[Symbol.asyncDispose]())

const environment = (env: Readonly<Record<string, string>> = {}) => ({
  GITHUB_WEBHOOK_SECRET: SECRET,
  MILLRACE_URL: node.url,
  MILLRACE_DATA: workspace.data,
  ...env,
})

/** A separate process. */
function launch(args: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [join(project, 'dist', 'bundle', 'main.js'), ...args.split(' ')], {
    cwd: workspace.folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment(env) },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  workspace.adopt(child)
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  const ended = once(child, 'close').then(([code]): Run => ({ code: code as number | null, ...output }))
  return { child, output, ended }
}

interface RunOptions {
  readonly env?: Record<string, string>
  readonly stdin?: string
}

async function runProcess(args: string, options: RunOptions = {}): Promise<Run> {
  const { child, ended } = launch(args, options.env)
  child.stdin.end(options.stdin ?? '')
  return ended
}

/** In this process. */
const millrace = (args: string, options: RunOptions = {}): Promise<Run> =>
  runCli(args.split(' '), {
    env: environment(options.env),
    ...(options.stdin !== undefined && { stdin: options.stdin }),
  })

/** Runs it with `--json`; it must succeed and write one value. */
async function ask<Answer>(args: string, stdin = ''): Promise<Answer> {
  const { code, stdout, stderr } = await millrace(`${args} --json`, { stdin })
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) })
  expect(stdout.trim().split('\n')).toHaveLength(1)
  return JSON.parse(stdout) as Answer
}

const firstWord = (text: string) => text.split(/\s/, 1)[0]

interface Sent {
  readonly eventId: string
  readonly url: string
}

describe('without a node', () => {
  test('[CL4] [CL6] nothing listens: the command says how to start one', async () => {
    const { code, stdout, stderr } = await runProcess('events', {
      env: { MILLRACE_URL: 'http://127.0.0.1:1' },
    })
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toContain('no node responds at http://127.0.0.1:1')
    expect(stderr).toContain('npm start')
  })

  test('[CL4] an invalid command line', async () => {
    for (const args of ['nonsense', 'events --nonsense', 'work resolve wrk_1', 'events -n many', 'replay']) {
      const { code, stdout, stderr } = await millrace(args)
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' })
      expect(stderr).toMatch(/^millrace: /)
      expect(stderr).not.toMatch(/\n\s+at /)
    }
    const { code, stdout, stderr } = await runProcess('nonsense')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^millrace: .+\n.+\n$/)
  })

  test('version, help and completion need nothing', async () => {
    const env = { MILLRACE_URL: 'http://127.0.0.1:1' }
    expect((await runProcess('version', { env })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect((await millrace('--help', { env })).stdout).toContain('dead-letters')
    expect((await millrace('help replay', { env })).stdout).toContain('--dry-run')
    expect((await millrace('completion bash', { env })).stdout).toContain('complete -F _millrace millrace')
  })

  test('[CL8] check finds what a node would find', async () => {
    const env = { MILLRACE_URL: 'http://127.0.0.1:1' }
    const right = await millrace(`check ${join(project, 'examples', 'demo')}`, { env })
    expect(right).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('8 definitions in 2 files'),
    })
    const folder = await workspace.writeFlows('kind: Route\nname: Wrong Name\non: [a.b]\n')
    const wrong = await millrace(`check ${folder}`, { env })
    expect(wrong.code).toBe(3)
    expect(wrong.stdout).toMatch(/flows\.yaml:2:7 error F10/)
    const told = await runProcess(`check ${folder} --json`, { env })
    expect(told.code).toBe(3)
    const planned = await millrace(`plan ${folder} --json`)
    expect(planned.code).toBe(3)
    const { findings } = JSON.parse(told.stdout) as { findings: object[] }
    expect(findings).toContainEqual(expect.objectContaining({ rule: 'F10' }))
    expect(JSON.parse(planned.stdout)).toMatchObject({ ok: false, findings })
    expect((await millrace('check', { env })).code).toBe(2)
    expect((await millrace('check nowhere', { env })).code).toBe(2)
  })
})

describe('events', () => {
  test('[CL1] [CL9] send signs a sample, events show its timeline, explain says which routes matched it', async () => {
    const sent = await ask<Sent>('send github')
    expect(sent).toMatchObject({ eventId: expect.stringMatching(/^evt_/), duplicate: false })
    expect(sent.url).toBe(`${node.url}/events/${sent.eventId}`)
    await settled(node)
    const story = await ask<{ story: { consumer: string; state: string }[] }>(`events ${sent.eventId}`)
    expect(story.story).toContainEqual(
      expect.objectContaining({ consumer: 'issue_to_ticket', state: 'done' }),
    )
    const told = await millrace(`events ${sent.eventId}`)
    expect(told.stdout).toContain('github.events.issues.opened')
    expect(told.stdout).toContain('issue_to_ticket  done')
    const why = await millrace(`explain ${sent.eventId}`)
    expect(why.stdout).toMatch(/^yes {2}issue_to_ticket {2}matched$/m)
    expect(why.stdout).toMatch(/^no {3}page_on_call {2}its subjects do not match$/m)
    expect(await ask('explain '.concat(sent.eventId))).toMatchObject({ eventId: sent.eventId })
  })

  test('[CL9] send: many, other samples, own data, a wrong secret', async () => {
    const many = await ask<{ items: Sent[] }>('send github --event issue_comment.created --count 5')
    expect(new Set(many.items.map(({ eventId }) => eventId)).size).toBe(5)
    const plain = await millrace('send github --event star.created --count 2')
    expect(plain).toMatchObject({ code: 0, stdout: expect.stringMatching(/^2 events sent\n/) })
    const data = '{"action":"opened","issue":{"number":9007199254740993}}'
    const own = JSON.parse(
      (await runProcess('send github --event issues --data - --json', { stdin: data })).stdout,
    ) as Sent
    const { stdout } = await millrace(`events ${own.eventId} --json`)
    expect(stdout).toContain('"number":9007199254740993')
    const refused = await millrace('send github --secret wrong')
    expect(refused).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('--secret') })
    expect((await millrace('send nowhere')).code).toBe(6)
    expect((await millrace('send github --event nonsense')).code).toBe(2)
  })

  test('[CL2] [CL3] lists: one JSON value, plain aligned text in a pipe', async () => {
    const page = await ask<{ items: { id: string }[]; nextCursor: string | null }>(
      'events -n 3 --source github',
    )
    expect(page.items).toHaveLength(3)
    expect(page.nextCursor).not.toBeNull()
    const { stdout } = await millrace('events -n 3 --source github')
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(4)
    expect(stdout).not.toContain('\u001b')
    expect(stdout).not.toContain('…')
    const at = lines[0]!.indexOf('SUBJECT')
    for (const line of lines.slice(1)) expect(line.slice(at)).toMatch(/^github\.events\./)
    const found = await ask<{ items: { subject: string }[] }>(
      'events --unmatched --subject github.events.star.created',
    )
    expect(found.items).toHaveLength(2)
    expect((await ask<{ items: object[] }>('events -q 9007199254740993')).items).toHaveLength(1)
    expect((await millrace('events evt_nothing')).code).toBe(6)
  })

  test('[CL2] [CL11] events -f prints a line per event, and Ctrl-C ends it quietly', async () => {
    const { child, output, ended } = launch('events -f --json --subject github.events.ping')
    let sent = 0
    await eventually('the stream tells of an event', async () => {
      if (output.stdout === '') {
        await millrace('send github --event ping')
        sent += 1
      }
      return output.stdout.includes('\n')
    })
    expect(sent).toBeGreaterThan(0)
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 130, stderr: '' })
    for (const line of output.stdout.trim().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({ type: 'event', subject: 'github.events.ping' })
    }
  })

  test('[CL11] a reader that closes the pipe ends it silently', async () => {
    const { child, ended } = launch('events -n 500')
    child.stdout.destroy()
    expect(await ended).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('the demo', () => {
  test('[DM3] [DM4] demo sends its samples, and every outcome occurs', async () => {
    const stored = async () => (await ask<{ items: object[] }>('events -n 500 --source github')).items.length
    const before = await stored()
    const { code, stdout } = await millrace('demo --count 40 --per-second 100')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^40 samples sent/) })
    await eventually('every sample is stored', async () => (await stored()) === before + 40, stored)
    await settled(node, ({ consumer }) => consumer === 'push_to_mirror')
    const work = await ask<{ items: { state: string; consumer: string; attempts: number }[] }>('work -n 500')
    const has = (consumer: string, state: string, more: object = {}) =>
      expect(work.items).toContainEqual(expect.objectContaining({ consumer, state, ...more }))
    has('issue_to_ticket', 'done', { attempts: 1 })
    has('issue_to_ticket', 'done', { attempts: 3 })
    has('issue_to_ticket', 'dead')
    has('issue_to_ticket', 'parked')
    has('push_to_mirror', 'ready')
    has('bug_to_board', 'done')
    has('release_to_changelog', 'done')
    const ledger = await ask<{ items: { consumer: string; proof?: string }[] }>('ledger -n 500')
    expect(ledger.items).toContainEqual(
      expect.objectContaining({ consumer: 'comment_to_ticket', proof: 'probe' }),
    )
    expect((await ask<{ items: object[] }>('events --unmatched')).items.length).toBeGreaterThan(0)
    expect((await millrace('demo stop')).stdout).toMatch(/were sent\n$/)
  })
})

describe('jobs that need a decision', () => {
  const parked = async () =>
    (await ask<{ items: { id: string; key: string }[] }>('work --state parked -n 500')).items

  test('[CL5] work: list, show, resolve, retry, probe, cancel', async () => {
    const [first, second] = await parked()
    expect(first).toBeDefined()
    expect((await millrace(`work ${first?.id}`)).stdout).toContain('parked')
    const said = await millrace(`work resolve ${first?.id} --as done --reason seen`)
    expect(said).toMatchObject({ code: 0, stdout: expect.stringMatching(/state +done/) })
    const again = await millrace(`work resolve ${first?.id} --as done --reason seen`)
    expect(again).toMatchObject({ code: 7, stdout: '' })
    expect(again.stderr).toMatch(/^millrace: .+: .+\.\n.+/)
    expect((await millrace(`ledger ${first?.key}`)).stdout).toContain('done')
    if (second !== undefined) {
      const probed = await millrace(`work probe ${second.id}`)
      expect([0, 7]).toContain(probed.code)
    }
    const [kept] = (await ask<{ items: { id: string }[] }>('work --state ready --consumer push_to_mirror'))
      .items
    expect(await ask(`work cancel ${kept?.id} --reason enough`)).toMatchObject({ state: 'cancelled' })
    expect((await millrace(`work retry ${kept?.id}`)).code).toBe(7)
    expect((await millrace('work wrk_nothing')).code).toBe(6)
  })

  test('[CL7] dead letters: groups, edit, ready, discard, replay of one and of all', async () => {
    await millrace('send github --event issues --data -', { stdin: longIssue(72) })
    await millrace('send github --event issues --data -', { stdin: longIssue(80) })
    await millrace('send github --event issues --data -', { stdin: longIssue(88) })
    type Letters = { items: { id: string; key: string; state: string }[] }
    const find = async (number: number) =>
      (await ask<Letters>('dead-letters -n 500')).items.find(({ key }) => key === `TICKET:42:${number}`)
    await eventually('all three are dead', async () => {
      const found = await Promise.all([72, 80, 88].map(find))
      return found.every((letter) => letter !== undefined)
    })
    const groups = await millrace('dead-letters groups')
    expect(groups.stdout).toMatch(/^COUNT +CONSUMER/)
    expect(groups.stdout).toContain('issue_to_ticket')
    const letter = (await find(72)) as { id: string }
    expect((await millrace(`dead-letters ${letter.id}`)).stdout).toContain('validation (DATA_QUALITY)')
    const edited = await millrace(`dead-letters edit ${letter.id} --data - --reason shorter --replay`, {
      stdin: longIssue(72, 'short'),
    })
    expect(edited.code).toBe(0)
    await eventually('the edited one is resolved', async () => (await find(72))?.state === 'resolved')
    const other = (await find(80)) as { id: string }
    expect((await millrace(`dead-letters ready ${other.id}`)).stdout).toContain('ready_to_replay')
    expect((await millrace(`dead-letters replay ${other.id}`)).code).toBe(0)
    const third = (await find(88)) as { id: string }
    expect((await millrace(`dead-letters discard ${third.id} --reason spam`)).stdout).toContain('discarded')
    expect((await millrace(`dead-letters replay ${third.id}`)).code).toBe(7)

    await eventually('the replayed one is open again', async () => (await find(80))?.state === 'open')
    const dry = await ask<{ items: object[]; totals: object }>('replay --consumer issue_to_ticket --dry-run')
    expect(dry.items.length).toBeGreaterThan(0)
    const unasked = await millrace('replay --all')
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(unasked.stdout).toMatch(/^ID +VERDICT +WHY/)
    const run = await millrace(`replay ${other.id} --yes`)
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/replayed +1 of 1/) })
    const { items } = await ask<{ items: { id: string }[] }>('replays')
    expect(await ask(`replays ${items[0]?.id}`)).toMatchObject({ state: 'done', replayed: 1 })
    expect((await millrace(`replays cancel ${items[0]?.id}`)).code).toBe(7)
  })
})

function longIssue(number: number, title = 'x'.repeat(200)): string {
  const issue = { number, title, user: { login: 'mona' }, labels: [] }
  return JSON.stringify({
    action: 'opened',
    issue,
    repository: { id: 42, full_name: 'acme/mill' },
  })
}

describe('definitions', () => {
  const yaml = (total: number) => `kind: Source
name: shop
verify: { scheme: hmac, secret: { env: SHOP_SECRET }, header: x-shop-signature }
subject: "shop.events.{{ payload.type }}"
event: { id: payload.id }
---
kind: Route
name: big_order
description: Tells of orders that matter.
on: [shop.events.order.paid]
where: payload.total > ${total}
do: { emit: demo.order.big }
`

  test('[CL7] plan, apply, versions, rollback, pause, resume, disable, try', async () => {
    const folder = await workspace.writeFlows(yaml(10))
    const file = join(folder, 'flows.yaml')
    const plan = await millrace(`plan ${folder}`)
    expect(plan).toMatchObject({ code: 0, stdout: expect.stringContaining('+ create Route big_order') })
    expect((await millrace(`apply ${folder}`)).code).toBe(2)
    const applied = await ask<{ version: number }>(`apply ${folder} --yes`)
    expect((await millrace(`apply ${folder} --yes`)).stdout).toContain('Nothing changes')
    await writeFile(file, yaml(20))
    const changed = await millrace(`apply ${folder} --yes`)
    expect(changed.stdout).toContain('- where: payload.total > 10')
    expect(changed.stdout).toContain('+ where: payload.total > 20')
    const listed = await millrace('definitions')
    expect(listed.stdout).toMatch(/Route +big_order +active +api/)
    expect((await millrace('definitions big_order')).stdout).toContain('where: payload.total > 20')
    const versions = await ask<{ items: { version: number }[] }>('versions')
    expect(versions.items[0]?.version).toBe(applied.version + 1)
    expect((await millrace(`rollback ${applied.version} --reason sure`)).code).toBe(0)
    expect((await millrace('definitions big_order')).stdout).toContain('where: payload.total > 10')
    expect((await millrace('rollback 99999')).code).toBe(6)
    expect((await millrace('pause big_order')).stdout).toContain('is paused')
    expect((await millrace('resume big_order')).stdout).toContain('is active')
    expect((await millrace('disable big_order')).stdout).toContain('is disabled')
    expect((await millrace('resume big_order')).code).toBe(0)
    expect((await millrace('pause nothing')).code).toBe(6)

    const tried = await millrace('try big_order --subject shop.events.order.paid --data -', {
      stdin: '{"total":5}',
    })
    expect(tried.stdout).toMatch(/matched +no/)
    expect(tried.stdout).toContain('✗ payload.total > 10')
    const [opened] = (await ask<{ items: { id: string }[] }>('events --subject github.events.issues.opened'))
      .items
    const request = await millrace(`try issue_to_ticket --event ${opened?.id}`)
    expect(request.stdout).toMatch(/^POST http:\/\/127\.0\.0\.1:\d+\/tickets$/m)
    expect((await millrace('try big_order --data -', { stdin: '{}' })).code).toBe(2)
  })

  test('[CL9] send signs for an hmac source by its definition; each of many has its own id', async () => {
    const folder = await workspace.writeFlows('{"id":"order-1","type":"order.paid","total":50}', 'order.json')
    const file = join(folder, 'order.json')
    const env = { SHOP_SECRET: 'shop-secret' }
    const unknown = await millrace(`send shop --data ${file}`)
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('SHOP_SECRET') })
    // This test's node has no such secret: the error shows that the request came as far as that.
    const refused = await millrace(`send shop --data ${file}`, { env })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('secret') })
    expect((await millrace('send shop', { env })).code).toBe(2)
  })
})

describe('access', () => {
  test('[CL13] secrets come from stdin and are never shown again', async () => {
    const set = await runProcess('secrets set shop-key', { stdin: 'very-secret-value\n' })
    expect(set).toMatchObject({ code: 0, stdout: expect.stringContaining('version 1') })
    expect((await millrace('secrets set shop-key', { stdin: '' })).code).toBe(2)
    const listed = await millrace('secrets')
    expect(listed.stdout).toMatch(/^shop-key +1/m)
    expect(JSON.stringify(await ask('secrets list'))).not.toContain('very-secret-value')
    expect((await millrace('secrets delete shop-key')).code).toBe(0)
    expect((await millrace('secrets delete shop-key')).code).toBe(6)
  })

  test('[CL4] keys have roles; a viewer’s key may not send samples', async () => {
    const made = await millrace('keys create reader --role viewer --expires 1d')
    const key = firstWord(made.stdout) as string
    expect(key).toMatch(/^mrk_default_/)
    expect((await millrace(`events -n 1 --key ${key}`)).code).toBe(0)
    const refused = await millrace('demo', { env: { MILLRACE_KEY: key } })
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('viewer') })
    const listed = await ask<{ items: { id: string; name: string }[] }>('keys')
    const id = listed.items.find(({ name }) => name === 'reader')?.id
    expect((await millrace(`keys revoke ${id}`)).code).toBe(0)
    expect((await millrace(`events --key ${key}`)).code).toBe(5)
    const empty = join(workspace.folder, 'empty')
    await mkdir(empty)
    const keyless = await millrace('events', { env: { MILLRACE_DATA: empty } })
    expect(keyless).toMatchObject({ code: 5, stderr: expect.stringContaining('an API key is required') })
  })

  test('[DM5] tenants; another tenant has no demo', async () => {
    expect((await millrace('tenants create acme')).stdout).toBe('tenant acme is created\n')
    expect((await millrace('tenants')).stdout).toMatch(/^acme /m)
    expect((await millrace('tenants create acme')).code).toBe(7)
    const made = await ask<{ key: string }>('keys create theirs --role admin --tenant acme')
    const env = { MILLRACE_KEY: made.key }
    expect(await millrace('demo', { env })).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('demo'),
    })
    expect((await millrace('tenants', { env })).code).toBe(5)
  })

  test('console prints a link that signs in once', async () => {
    const { stdout } = await millrace('console')
    expect(stdout).toMatch(new RegExp(`^${node.url}/sign-in#link=\\S+\\n$`))
    const link = stdout.trim().split('#link=')[1]
    const signIn = () =>
      fetch(`${node.url}/v1/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ link }),
      })
    expect((await signIn()).status).toBe(201)
    expect((await signIn()).status).toBe(401)
  })
})

test('logs: the end of the file as text or as it is, and on with -f', async () => {
  const { stdout } = await millrace('logs -n 5')
  expect(stdout.trimEnd().split('\n')).toHaveLength(5)
  const lines = (await millrace('logs -n 3 --json')).stdout.trim().split('\n')
  expect(lines.map((line) => typeof JSON.parse(line).timestamp)).toEqual(['string', 'string', 'string'])
  const { child, output, ended } = launch('logs -f -n 0 --match github.events.ping')
  await eventually('the log is followed', async () => {
    await millrace('send github --event ping')
    return output.stdout.includes('evt_')
  })
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 130, stderr: '' })
  expect((await millrace('logs', { env: { MILLRACE_DATA: 'nowhere' } })).code).toBe(6)
})
