// Where the package has its own files, from the sources and from the build.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export function demoFolder(): string {
  return fileURLToPath(new URL('../../examples/demo', import.meta.url))
}

/** Built beside this folder; when running from source, in `dist`. */
export function consoleFolder(): string {
  const own = fileURLToPath(import.meta.url)
  return fileURLToPath(new URL(own.endsWith('.ts') ? '../../dist/console' : '../console', import.meta.url))
}

export function packageVersion(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
