// Compiles a text once, evaluates it often.

import type { JsonValue } from '../../foundation/json/index.ts'
import { checkResult, type Frame, normalise, type Scope, STEPS_MAX } from '../evaluation/index.ts'
import type { Keyed } from '../functions/index.ts'
import { type ExpressionProblem, Fault, type Node, parseExpression } from '../syntax/index.ts'
import { build } from './compile.ts'
import type { Env } from './compile-environment.ts'
import { evaluateSecret, readSecretCall } from './secret-call.ts'

export interface CompileOptions extends Keyed {
  /** Names in scope; without them every root is accepted. */
  readonly roots?: readonly string[]
  readonly steps?: number
  /** The text is part of a request: `secret('name')` is allowed in it. */
  readonly secrets?: boolean
}

export interface Expression {
  readonly text: string
  readonly roots: readonly string[]
  /** Static paths that the text reads, such as `payload.labels[*].title`; each once, in order of appearance. */
  readonly paths: readonly string[]
  /** Throws ExpressionError. A missing value is null. */
  evaluate(scope: Scope): JsonValue
  /** As `evaluate`, but undefined for a missing value: an assignment then leaves its target unchanged. */
  read(scope: Scope): JsonValue | undefined
}

export type Compiled<T> =
  | ({ readonly ok: true } & T)
  | { readonly ok: false; readonly problem: ExpressionProblem }

/** As an Expression, but a missing value stays undefined. */
export interface Program {
  readonly node: Node
  readonly roots: readonly string[]
  readonly paths: readonly string[]
  /** The vault entry that it names; null: it is something else. */
  readonly secret: string | null
  run(scope: Scope): unknown
}

/** Throws Fault. */
export function compileProgram(text: string, options: CompileOptions = {}): Program {
  const node = parseExpression(text)
  const env: Env = {
    text,
    roots: options.roots === undefined ? undefined : new Set(options.roots),
    usedRoots: new Set(),
    paths: new Set(),
    build,
    locals: new Map(),
    localPaths: new Map(),
    slotCount: 0,
    elementSlot: -1,
    elementPath: undefined,
    quiet: false,
    depth: 0,
    multiplies: false,
    isRequest: options.secrets === true,
    hmac: options.hmac,
  }
  const secret = env.isRequest ? readSecretCall(node) : null
  const evaluate = secret === null ? build(node, env) : evaluateSecret(secret)
  const stepsMax = options.steps ?? STEPS_MAX
  const { slotCount, multiplies } = env
  const none: unknown[] = []
  const run = (scope: Scope): unknown => {
    const frame: Frame = { scope, steps: stepsMax, locals: slotCount === 0 ? none : new Array(slotCount) }
    const value = evaluate(frame)
    if (multiplies) checkResult(value)
    return typeof value === 'bigint' ? normalise(value) : value
  }
  return { node, roots: [...env.usedRoots], paths: [...env.paths], secret, run }
}

export function compileExpression(
  text: string,
  options?: CompileOptions,
): Compiled<{ readonly expression: Expression }> {
  return attempt(() => {
    const { roots, paths, run } = compileProgram(text, options)
    return {
      expression: {
        text,
        roots,
        paths,
        evaluate: (scope: Scope) => (run(scope) ?? null) as JsonValue,
        read: (scope: Scope) => run(scope) as JsonValue | undefined,
      },
    }
  })
}

export function attempt<T extends object>(compile: () => T): Compiled<T> {
  try {
    return { ok: true, ...compile() }
  } catch (error) {
    if (error instanceof Fault) return { ok: false, problem: error.problem }
    throw error
  }
}
