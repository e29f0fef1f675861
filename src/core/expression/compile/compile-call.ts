// Compiles calls: which function, how many arguments, and patterns fixed by the text.

import { charge, type Evaluate, isMissing, typeError } from '../evaluation/index.ts'
import {
  type CallSite,
  compilePattern,
  FUNCTIONS,
  type FunctionEntry,
  hmacWith,
  type Pattern,
  patternCost,
} from '../functions/index.ts'
import { closest, ExpressionError, Fault, type Node } from '../syntax/index.ts'
import { type Env, pathOf } from './compile-environment.ts'
import { misplacedSecret } from './secret-call.ts'

type Call = Node & { kind: 'call' }

const CLOCKS = /^(?:now|today|timestamp|duration|date|random|uuid|get[A-Z]\w*)$/
const MACRO_NAMES = ['map', 'filter', 'all', 'exists', 'exists_one']
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['matches', 're'],
  ['lowerAscii', 'lower'],
  ['upperAscii', 'upper'],
  ['toLowerCase', 'lower'],
  ['toUpperCase', 'upper'],
  ['length', 'size'],
  ['includes', 'contains'],
  ['concat', 'join'],
  ['orValue', 'coalesce'],
])

export function buildCall(node: Call, env: Env): Evaluate {
  if (node.name === 'secret') throw misplacedSecret(node, env.isRequest)
  const entry = FUNCTIONS.get(node.name)
  if (entry === undefined) throw unknownFunction(node)
  const args = node.receiver === null ? node.args : [node.receiver, ...node.args]
  checkForm(node, entry, args.length)
  const evaluates = args.map((arg) => env.build(arg, env))
  const site: CallSite = { name: node.name, paths: args.map((arg) => pathOf(arg, env)) }
  const pattern = args[1]
  if (node.name === 're' && pattern?.kind === 'literal' && typeof pattern.value === 'string') {
    return buildFixedPattern(evaluates[0] as Evaluate, literalPattern(pattern, pattern.value), site)
  }
  return buildArguments(node.name === 'hmac' ? hmacWith(env.hmac) : entry, evaluates, site)
}

function buildArguments(entry: FunctionEntry, evaluates: readonly Evaluate[], site: CallSite): Evaluate {
  const seesMissing = entry.seesMissing === true
  return (frame) => {
    // At its length: an empty list grows to seventeen places with its first value.
    const values: unknown[] = new Array(evaluates.length)
    for (let index = 0; index < evaluates.length; index += 1) {
      const value = (evaluates[index] as Evaluate)(frame)
      if (!seesMissing && isMissing(value)) return value
      values[index] = value
    }
    return entry.run(frame, site, values)
  }
}

function buildFixedPattern(text: Evaluate, pattern: Pattern, site: CallSite): Evaluate {
  return (frame) => {
    const value = text(frame)
    if (isMissing(value)) return value
    if (typeof value !== 'string') throw typeError('`re` needs a text', value, site.paths[0])
    charge(frame, patternCost(value))
    return pattern(value)
  }
}

function literalPattern(node: Node, pattern: string): Pattern {
  try {
    return compilePattern(pattern)
  } catch (error) {
    if (error instanceof ExpressionError) throw new Fault(error.message, node.at, node.end - node.at)
    throw error
  }
}

function checkForm(node: Call, entry: FunctionEntry, given: number): void {
  if (entry.onlyGlobal === true && node.receiver !== null) {
    throw new Fault(`write ${node.name}(…) in front, not behind a value`, node.nameAt, node.name.length)
  }
  if (given >= entry.least && given <= entry.most) return
  const needs = entry.least === entry.most ? `${entry.least}` : `${entry.least} to ${entry.most}`
  const counted = node.receiver === null ? '' : ', the value before the dot included'
  throw new Fault(
    `\`${node.name}\` takes ${needs} arguments${counted}, not ${given}`,
    node.nameAt,
    node.end - node.nameAt,
  )
}

function unknownFunction(node: Call): Fault {
  const { name, nameAt } = node
  if (name === 'matches') {
    return new Fault(
      'there is no `matches`: write re(text, pattern), which takes linear time',
      nameAt,
      name.length,
      're(text, pattern)',
    )
  }
  if (CLOCKS.test(name)) {
    return new Fault(
      'expressions have no clock and no chance: use a time from the event',
      nameAt,
      name.length,
      'event.occurredAt',
    )
  }
  if (MACRO_NAMES.includes(name)) {
    return new Fault(
      `write \`${name}\` behind a list: list.${name}(x, …)`,
      nameAt,
      name.length,
      `list.${name}(x, …)`,
    )
  }
  const near = ELSEWHERE.get(name) ?? closest(name, [...FUNCTIONS.keys(), ...MACRO_NAMES, 'has'])
  if (near !== undefined)
    return new Fault(`there is no function \`${name}\`: did you mean \`${near}\`?`, nameAt, name.length, near)
  return new Fault(
    `there is no function \`${name}\`: there are ${[...FUNCTIONS.keys()].sort().join(', ')}`,
    nameAt,
    name.length,
  )
}
