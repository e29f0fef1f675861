// What a person sees after `npm start`: where it is, where things lie, and one line to try.

import { resolve } from 'node:path'
import type { App } from '../app.ts'
import type { Config } from '../config/index.ts'
import { signRequest } from '../core/source/index.ts'

const SAMPLE = {
  action: 'opened',
  issue: { number: 1, title: 'The wheel squeaks', user: { login: 'mona' } },
  repository: { id: 42, full_name: 'acme/mill' },
}

export function renderBanner(app: App, config: Config, secret: string | null): string {
  const key = app.adminKey.file === null ? 'MILLRACE_ADMIN_KEY' : resolve(app.adminKey.file)
  const read =
    app.adminKey.file === null ? '$MILLRACE_ADMIN_KEY' : `$(cat ${quote(resolve(app.adminKey.file))})`
  const lines = [
    '',
    `Millrace is up at ${app.url}`,
    '',
    `  data         ${resolve(config.dataFolder)}`,
    `  admin key    ${key}`,
    `  definitions  ${app.definitions.folder} (${app.definitions.count}${app.definitions.demo ? ', the demo' : ''})`,
    `  log          ${config.log === 'stdout' || config.log === 'stderr' ? config.log : resolve(config.log)}`,
  ]
  for (const { file, line, column, message } of app.warnings) {
    lines.push(`  warning      ${file}:${line}:${column} ${message}`)
  }
  if (app.definitions.demo && secret !== null) {
    lines.push(
      '',
      'Send a signed GitHub event:',
      '',
      `  ${sampleCommand(app.url, secret)}`,
      '',
      'Then see what became of it, with the eventId from the answer:',
      '',
      `  curl -s -H "authorization: Bearer ${read}" ${app.url}/v1/events/<eventId>`,
    )
  }
  lines.push('', 'Ctrl-C stops it; what is under way is finished first.', '')
  return lines.join('\n')
}

function sampleCommand(url: string, secret: string): string {
  const body = JSON.stringify(SAMPLE)
  const verify = { scheme: 'github', secret: [] } as const
  const signed = signRequest(verify, { body: new TextEncoder().encode(body), secret })
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'issues',
    'x-github-delivery': 'demo-1',
    ...signed,
  }
  const flags = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`)
  return `curl -s ${url}/in/default/github ${flags.join(' ')} -d ${quote(body)}`
}

function quote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
