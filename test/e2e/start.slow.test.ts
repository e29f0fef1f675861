// What a new user sees first: the banner, its commands and its link, an event's timeline; and the key of the API.

import { execFile } from 'node:child_process'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { listEvents, report, settled } from '../support/account.ts'
import { makeDelivery } from '../support/load.ts'
import { buildDist, type NodeProcess, project, SECRET, startNode } from '../support/node-process.ts'
import { makeWorkspace } from '../support/workspace.ts'

beforeAll(buildDist)

const run = promisify(execFile)

interface Story {
  readonly id: string
  readonly subject: string
  readonly correlationId: string
  readonly data: { readonly issue: { readonly number: number; readonly title: string } }
  readonly consumers: readonly object[]
  readonly story: readonly { readonly consumer: string; readonly key: string }[]
}

test('npm start: the banner says where everything is, its link signs in, and its first command works', async () => {
  await using workspace = makeWorkspace()
  const args = [join(project, 'scripts', 'bootstrap.mjs'), 'start']
  const node = await startNode({ workspace, args })
  report(`npm start, warm: /healthz answers ${Math.round(node.healthyInMs)} ms after the process began`)
  const banner = node.stdout()
  const keyFile = join(workspace.data, 'admin.key')
  expect(node.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  expect(banner).toContain(`Millrace is up at ${node.url}\n`)
  expect(banner).toContain(`  data         ${workspace.data}\n`)
  expect(banner).toContain(`  admin key    ${keyFile}\n`)
  expect(banner).not.toContain(node.adminKey)

  expect(banner.split('\n').length).toBeLessThan(20)
  const link = /sign in {6}(\S+)\/sign-in#link=(\S+)/.exec(banner)
  expect(link?.[1]).toBe(node.url)
  const signIn = await fetch(`${node.url}/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ link: link?.[2] }),
  })
  expect(signIn.status).toBe(201)
  expect(banner).toContain('millrace send github ')

  const command = [join(project, 'dist', 'bundle', 'main.js'), 'send', 'github', '--json']
  const env = { MILLRACE_URL: node.url, MILLRACE_DATA: workspace.data, GITHUB_WEBHOOK_SECRET: SECRET }
  const { stdout: answer } = await run(process.execPath, command, { env })
  const { eventId } = JSON.parse(answer) as { eventId: string }
  expect(JSON.parse(answer)).toMatchObject({ eventId: expect.stringMatching(/^evt_/), duplicate: false })
  await settled(node)
  const story = await node.get<Story>(`/v1/events/${eventId}`)
  const { number, title } = story.data.issue
  expect(title).not.toBe('')
  const work = story.story.find(({ consumer }) => consumer === 'issue_to_ticket')
  expect(work).toMatchObject({
    httpStatus: 201,
    // A first attempt that succeeded is stored on the job itself; the history is for other outcomes.
    attempts: 1,
    history: [],
    ledger: { state: 'done', proof: 'acknowledged', generation: 1, eventId },
    deadLetter: null,
  })
  expect(work?.key).toMatch(new RegExp(`^TICKET:\\d+:${number}$`))

  node.kill('SIGINT')
  expect(await node.exited).toMatchObject({ code: 0, signal: null, stderr: '' })
})

const control = (node: NodeProcess, verb: 'pause' | 'resume') =>
  node.post(`/v1/definitions/Route/issue_to_ticket/${verb}`, {})

test('jobs of the demo that a crash left know the address of the next start', async () => {
  await using workspace = makeWorkspace()
  const first = await startNode({ workspace })
  // Paused, so that the crash leaves the jobs untouched: a call in progress would have an unknown outcome, and be
  // parked.
  await control(first, 'pause')
  const { body, headers } = makeDelivery()
  const answer = await fetch(`${first.url}/in/default/github`, { method: 'POST', body, headers })
  first.kill('SIGKILL')
  expect(answer.status).toBe(202)
  await first.exited
  const second = await startNode({ workspace })
  await control(second, 'resume')
  await settled(second)
  const events = await listEvents(second, 'source=github')
  expect(events).toMatchObject([{ consumers: [{ name: 'issue_to_ticket', state: 'done' }] }])
})

const answerTo = async (url: string, key: string | null) => {
  const response = await fetch(
    `${url}/v1/events`,
    key === null ? {} : { headers: { authorization: `Bearer ${key}` } },
  )
  return { status: response.status, type: response.headers.get('content-type') }
}
const refused = { status: 401, type: expect.stringMatching(/^application\/problem\+json/) }

test('the admin key is generated once, stored for its owner only, and used again; the environment’s wins', async () => {
  await using workspace = makeWorkspace()
  const file = join(workspace.data, 'admin.key')
  // As a crash in the middle of the first start would leave it.
  await mkdir(workspace.data)
  await writeFile(file, '', { mode: 0o644 })

  const first = await startNode({ workspace })
  const text = await readFile(file, 'utf8')
  expect(text).toMatch(/^mrk_[\w-]{32}\n$/)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await answerTo(first.url, null)).toEqual(refused)
  expect(await answerTo(first.url, 'mrk_guess')).toEqual(refused)
  expect((await answerTo(first.url, text.trim())).status).toBe(200)
  first.kill('SIGTERM')
  await first.exited

  const second = await startNode({ workspace })
  expect(await readFile(file, 'utf8')).toBe(text)
  expect((await answerTo(second.url, text.trim())).status).toBe(200)
  second.kill('SIGTERM')
  await second.exited

  const third = await startNode({ workspace, env: { MILLRACE_ADMIN_KEY: 'from-the-environment' } })
  expect(third.stdout()).toContain('  admin key    MILLRACE_ADMIN_KEY\n')
  expect(third.stdout()).not.toContain('from-the-environment')
  expect((await answerTo(third.url, 'from-the-environment')).status).toBe(200)
  expect(await answerTo(third.url, text.trim())).toEqual(refused)
  expect(await readFile(file, 'utf8')).toBe(text)
})
