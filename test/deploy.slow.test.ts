// The contents of the image, run as the image is run: production packages and built code in a folder that the node's
// user cannot write to, a data folder and a folder for temporary files that it can.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chmodSync, chownSync, constants, existsSync, readdirSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { makeDelivery } from './support/load.ts'
import { buildDist, eventually, project, SECRET } from './support/node-process.ts'
import { makeWorkspace } from './support/workspace.ts'

beforeAll(buildDist)

const UID = 10_001
const ADMIN_KEY = 'a-key-of-more-than-twenty-characters'

const FLOWS = `
kind: Source
name: github
verify: { scheme: github, secret: { env: GITHUB_WEBHOOK_SECRET } }
subjects: github
---
kind: Route
name: chain
on: [github.events.issues.opened]
do: { emit: mill.step.one, data: { from: "{{ event.id }}" } }
`

/** As `npm ci --omit=dev` would: every package that the lockfile does not mark as a development one. */
async function copyPackages(to: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>
  }
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    if (path === '' || dev === true || !existsSync(join(project, path))) continue
    await cp(join(project, path), join(to, path), { recursive: true })
  }
}

function closeForWriting(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const path = join(entry.parentPath, entry.name)
    accessSync(path, constants.R_OK)
    chmodSync(path, entry.isDirectory() ? 0o555 : 0o444)
  }
  chmodSync(folder, 0o555)
}

/** So that the workspace can be removed. */
function openAgain(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
}

test('[DE1] [DE2] [DE3] the contents of the image run without root in a read-only folder', async () => {
  await using workspace = makeWorkspace()
  chmodSync(workspace.folder, 0o755)
  const app = join(workspace.folder, 'app')
  await mkdir(app)
  await copyPackages(app)
  for (const part of ['dist', 'package.json', 'examples']) {
    await cp(join(project, part), join(app, part), { recursive: true })
  }
  const flows = await workspace.writeFlows(FLOWS)
  const temporary = join(workspace.folder, 'tmp')
  const key = join(workspace.folder, 'admin_key')
  await writeFile(key, `${ADMIN_KEY}\n`)
  const isRoot = process.getuid?.() === 0
  for (const folder of [workspace.data, temporary]) {
    await mkdir(folder)
    if (isRoot) chownSync(folder, UID, UID)
  }
  closeForWriting(app)
  try {
    const child = spawn(process.execPath, ['dist/bundle/main.js', 'start'], {
      cwd: app,
      ...(isRoot && { uid: UID, gid: UID }),
      env: {
        PATH: process.env.PATH,
        HOME: '/nonexistent',
        TMPDIR: temporary,
        NODE_ENV: 'production',
        GITHUB_WEBHOOK_SECRET: SECRET,
        MILLRACE_ENV: 'PROD',
        MILLRACE_PORT: '0',
        MILLRACE_DATA: workspace.data,
        MILLRACE_FLOWS: flows,
        MILLRACE_ADMIN_KEY_FILE: key,
        MILLRACE_SECRET_ENV: 'GITHUB_WEBHOOK_SECRET',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    workspace.adopt(child)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    }
    const exited = once(child, 'close')
    await eventually('the node is up', () => /Millrace is up at/.test(said) || child.exitCode !== null)
    const url = /Millrace is up at (http:\/\/\S+)/.exec(said)?.[1]
    expect(url, said).toBeDefined()
    const ask = (path: string) =>
      fetch(`${url}${path}`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } })
    expect(await (await ask('/readyz')).json()).toMatchObject({ status: 'ready' })
    const { body, headers } = makeDelivery()
    const taken = await fetch(`${url}/in/default/github`, { method: 'POST', body, headers })
    expect(taken.status).toBe(202)
    const { eventId } = (await taken.json()) as { eventId: string }
    await eventually('its work is done', async () => {
      const event = (await (await ask(`/v1/events/${eventId}`)).json()) as {
        consumers: { state: string }[]
      }
      return event.consumers.every(({ state }) => state === 'done')
    })
    await eventually('the age of the backlog is told', async () => {
      const answer = await fetch(`${url}/metrics`)
      expect(answer.headers.get('content-type')).toMatch(/^text\/plain/)
      return /^millrace_backlog_age_seconds\{role="work"\} \d/m.test(await answer.text())
    })
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(existsSync(join(workspace.data, 'millrace.db'))).toBe(true)
  } finally {
    openAgain(app)
  }
})
