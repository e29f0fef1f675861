// `millrace start`: reads the settings, starts the node, and stops it cleanly.

import { existsSync, readFileSync } from 'node:fs'
import { DefinitionsError, SettingError, startApp } from '../app.ts'
import { environment } from '../config/environment.ts'
import { type ConfigFinding, readSecretFiles, resolveConfig, withFolders } from '../config/index.ts'
import { AppError, ERRORS } from '../core/foundation/errors/index.ts'
import { formatFindings } from '../definitions/index.ts'
import { StoreError } from '../ports/store.ts'
import { renderBanner, renderPause } from './banner.ts'
import type { StartArgs } from './start-args.ts'

/** `onUp` is called once the node takes requests. */
export async function start({ roles, settings }: StartArgs, onUp: () => void = () => {}): Promise<number> {
  const env = environment()
  const isTold = roles.length > 0
  const told = readSecretFiles(withFolders(env, existsSync), (path) => readFileSync(path, 'utf8'))
  if (told.findings.length > 0) return fail(refusedSettings(told.findings))
  const given = { ...told.env, ...settings }
  const resolved = resolveConfig(isTold ? { ...given, MILLRACE_ROLES: roles.join(',') } : given)
  if (!resolved.ok)
    return fail(refusedSettings(isTold ? resolved.findings.map(toldByFlag) : resolved.findings))
  const { config } = resolved
  for (const { setting, message } of resolved.warnings)
    process.stderr.write(`millrace: ${setting}: ${message}\n`)
  try {
    const app = await startApp({
      config,
      env,
      onFatal,
      onNotice: (text) => process.stdout.write(text),
    })
    onUp()
    // A function that forgets to await a promise must not end the whole process.
    process.on('unhandledRejection', (error) => app.logUnhandledRejection(error))
    // Elsewhere stdout is a log that others read: a sign-in link there would be a key for all of them.
    if (app.pause === null) {
      const link = config.environment === 'DEV' ? await app.makeSignInLink() : null
      process.stdout.write(renderBanner(app, config, { link, command: commandName(env) }))
    } else process.stdout.write(renderPause(app.url, app.pause))
    await stopSignal()
    process.stdout.write('stopping …\n')
    const { left } = await app.close()
    if (left > 0) process.stdout.write(`${left} jobs were still running; they continue at the next start\n`)
    return 0
  } catch (error) {
    return fail(explain(error, config.port))
  }
}

/** Better no node than one that accepts nothing: a supervisor restarts the process. */
function onFatal(message: string): void {
  fail(`${message}; start it again, everything acknowledged is in the store.\n`)
  process.exit(1)
}

/** Under a package runner the same Ctrl-C may arrive twice: a second signal is not impatience. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve())
  })
}

/** As it can be typed where this was started. */
function commandName(env: Readonly<Record<string, string | undefined>>): string {
  if (env.npm_lifecycle_event === undefined) return 'millrace'
  return process.platform === 'win32' ? 'npm run millrace --' : 'npx millrace'
}

/** A user who wrote the flag looks for the flag. */
function toldByFlag(finding: ConfigFinding): ConfigFinding {
  return finding.setting === 'MILLRACE_ROLES' ? { ...finding, setting: '--role' } : finding
}

function refusedSettings(findings: readonly ConfigFinding[]): string {
  const lines = findings.map(({ setting, message }) => `  ${setting}: ${message}`)
  return `the settings cannot be used:\n${lines.join('\n')}\n`
}

function explain(error: unknown, port: number): string {
  if (error instanceof DefinitionsError) {
    return `the definitions in ${error.folder} cannot be used:\n\n${formatFindings(error.findings, error.files)}\n`
  }
  if (error instanceof SettingError) return refusedSettings([error])
  if (error instanceof StoreError) return `${error.message}\n`
  if (error instanceof AppError) return `${error.message}. ${ERRORS[error.code].next}\n`
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EMFILE' || code === 'ENFILE')
    return 'too many files are open: raise the limit (`ulimit -n`, or LimitNOFILE of the service) to 1024 or more, and start again.\n'
  if (code === 'EADDRINUSE')
    return `port ${port} is taken; set MILLRACE_PORT to a free port, or stop the process that uses it.\n`
  return `${message}\n`
}

function fail(message: string): number {
  process.stderr.write(`millrace: ${message}`)
  return 1
}
