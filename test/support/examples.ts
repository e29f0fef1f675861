// The examples as tests run them: a copy of the folder with the test's addresses and times, and the stand-ins that come
// with them.

import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { project } from './node-process.ts'
import type { Workspace } from './workspace.ts'

/** A request to the ERP: `step` is the number of the step that the object belongs to. */
export interface ErpCall {
  readonly method: 'POST' | 'DELETE'
  readonly kind: string
  readonly project: string
  readonly step: number
}

export interface ErpObject {
  readonly id: string
  readonly kind: string
  readonly project: string
  readonly step: number
  /** How often. */
  readonly removed: number
}

export interface Erp {
  readonly url: string
  /** Everything that was ever created, in order. */
  readonly objects: readonly ErpObject[]
  removed(): readonly ErpObject[]
  close(): Promise<void>
}

export interface Office {
  readonly url: string
  readonly asked: readonly {
    readonly said: readonly { readonly content: string }[]
    readonly authorization: string
  }[]
  readonly messages: readonly { readonly text: string; readonly issue: number }[]
  close(): Promise<void>
}

/** A status is returned instead of doing it. */
type Interfere = (
  moment: 'before' | 'after',
  call: ErpCall,
) => Promise<number | undefined> | number | undefined

export async function startErp(interfere: Interfere): Promise<Erp> {
  const { startErp: start } = await standIn<{ startErp(options: object): Promise<Erp> }>('erp.mjs')
  return start({ interfere })
}

export async function startOffice(pause: (asked: string) => Promise<void>): Promise<Office> {
  const { startOffice: start } = await standIn<{ startOffice(options: object): Promise<Office> }>(
    'office.mjs',
  )
  return start({ pause })
}

export interface Crm {
  readonly url: string
  readonly received: readonly { readonly order: { readonly id: number } }[]
  close(): Promise<void>
}

export async function startCrm(secret: string): Promise<Crm> {
  const { startCrm: start } = await standIn<{ startCrm(options: object): Promise<Crm> }>('crm.mjs')
  return start({ secret })
}

function standIn<Module>(name: string): Promise<Module> {
  return import(pathToFileURL(join(project, 'examples', name)).href)
}

/** Each text in `changes` must exist. */
export async function copyExample(
  { folder }: Pick<Workspace, 'folder'>,
  name: string,
  changes: Readonly<Record<string, string>>,
): Promise<string> {
  const copy = join(folder, name)
  await cp(join(project, 'examples', name), copy, { recursive: true })
  const files = await readdir(copy)
  const missed = new Set(Object.keys(changes))
  for (const file of files) {
    let text = await readFile(join(copy, file), 'utf8')
    for (const [from, to] of Object.entries(changes)) {
      if (!text.includes(from)) continue
      missed.delete(from)
      text = text.replaceAll(from, to)
    }
    await writeFile(join(copy, file), text)
  }
  if (missed.size > 0) throw new Error(`not in the example ${name}: ${[...missed].join(', ')}`)
  // What a user installs beside the definitions.
  await mkdir(join(copy, 'node_modules'))
  await symlink(join(project, 'node_modules', 'zod'), join(copy, 'node_modules', 'zod'))
  return copy
}
