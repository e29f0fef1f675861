// Which parts of an event are sensitive: a source's paths, parsed and merged into one tree per root, so that a payload is
// walked once for any number of paths.

import { compilePath, type PathStep } from '../../expression/index.ts'
import { plainPath } from './classified-paths.ts'

export interface SensitivePath {
  readonly text: string
  readonly root: 'payload' | 'header'
  readonly steps: readonly PathStep[]
  /** For admins alone. */
  readonly isRestricted?: true
}

export interface SensitiveProblem {
  readonly message: string
  /** Offset in the text. */
  readonly offset: number
  readonly length: number
}

export type ParsedSensitivePath =
  | { readonly ok: true; readonly path: SensitivePath }
  | { readonly ok: false; readonly problem: SensitiveProblem }

/** The paths below one node. */
export interface HidingTree {
  /** All of it is sensitive, whatever else the tree says. */
  isWhole: boolean
  readonly fields: Map<string, HidingTree>
  readonly positions: Map<number, HidingTree>
  each: HidingTree | null
}

export interface Sensitive {
  /** null: nothing of it is sensitive. */
  readonly payload: HidingTree | null
  readonly header: HidingTree | null
}

/** The whole payload: for everything that is computed from sensitive data and is not a copy of it. */
export const WHOLE_PAYLOAD: readonly string[] = ['payload']

const ROOTS = ['payload', 'header']

export function parseSensitivePath(text: string): ParsedSensitivePath {
  const compiled = compilePath(text, { roots: ROOTS })
  if (!compiled.ok) {
    const { message, offset, length } = compiled.problem
    return { ok: false, problem: { message: toldFor(message), offset, length } }
  }
  const { root, steps } = compiled.path
  if (root === 'payload') return { ok: true, path: { text, root, steps } }
  if (steps.length === 0) return { ok: true, path: { text, root: 'header', steps } }
  const [name] = steps
  if (steps.length > 1 || typeof name !== 'string') {
    const message = 'a header is one text: write `header.x-user`, or `header` for all of them'
    return { ok: false, problem: { message, offset: 0, length: text.length } }
  }
  // Headers are stored in lower case.
  return { ok: true, path: { text, root: 'header', steps: [name.toLowerCase()] } }
}

/** The expression compiler allows quoted texts; here only paths are allowed. */
function toldFor(message: string): string {
  return /is not in scope: text needs quotes|an expression is empty/.test(message)
    ? 'a sensitive path begins with `payload` or `header`: payload.user.email, payload.users[*].email, header.x-user'
    : message
}

/**
 * Paths that do not parse hide the whole payload: stored paths were checked before, so only a bug leads here, and a bug must
 * not reveal what was meant to be hidden.
 */
export function compileSensitive(texts: readonly string[]): Sensitive {
  let payload: HidingTree | null = null
  let header: HidingTree | null = null
  for (const text of texts) {
    const parsed = parseSensitivePath(plainPath(text))
    const { root, steps } = parsed.ok ? parsed.path : ({ root: 'payload', steps: [] } as const)
    if (root === 'payload') {
      payload ??= makeTree()
      plant(payload, steps)
    } else {
      header ??= makeTree()
      plant(header, steps)
    }
  }
  return { payload, header }
}

/** Whether one of two paths contains the other. */
export function overlaps(
  one: Pick<SensitivePath, 'root' | 'steps'>,
  other: Pick<SensitivePath, 'root' | 'steps'>,
): boolean {
  if (one.root !== other.root) return false
  const common = Math.min(one.steps.length, other.steps.length)
  for (let at = 0; at < common; at += 1) {
    if (!meets(one.steps[at] as PathStep, other.steps[at] as PathStep)) return false
  }
  return true
}

function meets(one: PathStep, other: PathStep): boolean {
  if (typeof one === 'object') return typeof other !== 'string'
  return typeof other === 'object' ? typeof one !== 'string' : one === other
}

function makeTree(): HidingTree {
  return { isWhole: false, fields: new Map(), positions: new Map(), each: null }
}

function plant(root: HidingTree, steps: readonly PathStep[]): void {
  let tree = root
  for (const step of steps) tree = branch(tree, step)
  tree.isWhole = true
}

function branch(tree: HidingTree, step: PathStep): HidingTree {
  if (typeof step === 'object') {
    tree.each ??= makeTree()
    return tree.each
  }
  return typeof step === 'string' ? grow(tree.fields, step) : grow(tree.positions, step)
}

function grow<Key>(branches: Map<Key, HidingTree>, key: Key): HidingTree {
  let next = branches.get(key)
  if (next === undefined) {
    next = makeTree()
    branches.set(key, next)
  }
  return next
}
