// What a user sees after `npm start`: the address, the folders, and what to try. No wall of text.

import { resolve } from 'node:path'
import type { App, Pause } from '../app.ts'
import type { Config } from '../config/index.ts'
import { ROLES } from '../core/queue/node-role/index.ts'

export interface BannerOptions {
  /** Signs the first visitor in; null: there is no console to show. */
  readonly link: string | null
  /** How the command is called here: `millrace`, or by npm in a checkout. */
  readonly command: string
}

export function renderBanner(app: App, config: Config, { link, command }: BannerOptions): string {
  const { folder, count, demo } = app.definitions
  const lines = ['', `Millrace is up at ${app.url}`, '']
  if (link !== null) lines.push(`  sign in      ${link}`, '')
  // All roles are the expected case.
  if (config.roles.length < ROLES.length) lines.push(`  roles        ${config.roles.join(', ')}`)
  lines.push(
    `  data         ${resolve(config.dataFolder)}`,
    `  admin key    ${app.adminKey.file === null ? 'MILLRACE_ADMIN_KEY' : resolve(app.adminKey.file)}`,
    `  definitions  ${folder === null ? 'none yet' : `${resolve(folder)} (${count}${demo ? ', the demo' : ''})`}`,
    `  log          ${config.log === 'stdout' || config.log === 'stderr' ? config.log : resolve(config.log)}`,
  )
  for (const line of [...app.definitions.putBack, ...app.definitions.gone, ...app.definitions.missing])
    lines.push(`  warning      ${line}`)
  // The demo warns on purpose: one of its routes demonstrates an unknown outcome.
  for (const { file, line, column, message } of demo ? [] : app.warnings) {
    lines.push(`  warning      ${file}:${line}:${column} ${message}`)
  }
  if (demo) {
    lines.push(
      '',
      'Try, in another terminal:',
      '',
      `  ${command} send github     one signed event`,
      `  ${command} demo            a stream of them`,
      `  ${command} dead-letters    the jobs that failed permanently`,
    )
  }
  lines.push('', 'Ctrl-C stops the node after it has finished running jobs.', '')
  return lines.join('\n')
}

/** A node that does nothing until the operator decides. */
export function renderPause(url: string, { reasons, confirm }: Pause): string {
  return [
    '',
    `Millrace is PAUSED at ${url}: it accepts no events and runs no jobs.`,
    '',
    ...reasons.map((reason) => `  ${reason}`),
    '',
    `To continue without a restart: millrace confirm-copy ${confirm}`,
    `Or restart it with: millrace start --confirm-copy ${confirm}`,
    '',
    '',
  ].join('\n')
}
