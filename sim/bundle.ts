// One file of plain JavaScript of the whole simulator: it loads in a fraction of the time that the loader of TypeScript needs, and
// runs a fifth faster without what that loader adds to every function.

import { mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Inside the checkout: packages are found from there. */
const FOLDER = fileURLToPath(new URL('../.cache/sim/', import.meta.url))

/** Each process makes its own: two that start together must not read half of one. */
export async function bundleSimulator(): Promise<{ readonly path: string; remove(): void }> {
  mkdirSync(FOLDER, { recursive: true })
  const path = `${FOLDER}main-${process.pid}.mjs`
  await build({
    entryPoints: [fileURLToPath(new URL('./command.ts', import.meta.url))],
    outfile: path,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Beside it: inside it, every process would read twice as much.
    sourcemap: 'linked',
    logLevel: 'error',
  })
  return {
    path,
    remove() {
      for (const file of [path, `${path}.map`]) rmSync(file, { force: true })
    },
  }
}
