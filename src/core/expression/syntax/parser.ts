// Parses tokens to a tree, by precedence climbing. CEL's grammar plus `[*]`. Invariants: recursion and tree depth are bounded,
// so no text can exhaust the stack; only Fault is thrown.

import type { BinaryOperator, MacroName, MapEntry, Node } from './ast.ts'
import { Fault } from './expression-errors.ts'
import { type Token, tokenize } from './lexer.ts'
import { textNeedsQuotes, unexpected } from './syntax-faults.ts'

const NESTING_MAX = 128
const CHAIN_MAX = 256
const NODES_MAX = 4096
const MACROS: ReadonlySet<string> = new Set(['map', 'filter', 'all', 'exists', 'exists_one'])
const PRECEDENCE: Readonly<Record<string, number>> = {
  '||': 1,
  '&&': 2,
  '==': 3,
  '!=': 3,
  '<': 3,
  '<=': 3,
  '>': 3,
  '>=': 3,
  in: 3,
  '+': 4,
  '-': 4,
  '*': 5,
  '/': 5,
  '%': 5,
}

export function parseExpression(text: string): Node {
  const parser: Parser = { text, tokens: tokenize(text), next: 0, nesting: 0, nodes: 0 }
  if (peek(parser).type === 'end') {
    throw new Fault("an expression is empty: for an empty text write `''`", 0, text.length, "''")
  }
  const node = parseChoice(parser)
  const rest = peek(parser)
  if (rest.type !== 'end') throw textNeedsQuotes(parser.text, parser.tokens, parser.next)
  return node
}

interface Parser {
  readonly text: string
  readonly tokens: readonly Token[]
  next: number
  nesting: number
  nodes: number
}

function peek(parser: Parser): Token {
  return parser.tokens[parser.next] as Token
}

function take(parser: Parser): Token {
  const token = peek(parser)
  if (token.type !== 'end') parser.next++
  return token
}

function accept(parser: Parser, operator: string): Token | null {
  const token = peek(parser)
  return token.type === 'operator' && token.text === operator ? take(parser) : null
}

function expect(parser: Parser, operator: string, inside: string): Token {
  const token = accept(parser, operator)
  if (token === null)
    throw unexpected(parser.text, parser.tokens, parser.next, `expected \`${operator}\` ${inside}`)
  return token
}

function count(parser: Parser, at: number): void {
  if (++parser.nodes > NODES_MAX) throw new Fault('this expression is too long: split it', at, 1)
}

function nested<T>(parser: Parser, parse: () => T): T {
  if (++parser.nesting > NESTING_MAX) {
    throw new Fault(`nested deeper than ${NESTING_MAX} levels: split it`, peek(parser).at, 1)
  }
  const result = parse()
  parser.nesting--
  return result
}

function parseChoice(parser: Parser): Node {
  return nested(parser, () => {
    const test = parseBinary(parser, 1)
    if (accept(parser, '?') === null) return test
    if (peek(parser).text === '.') {
      throw new Fault('missing fields are null here: write `.` without `?`', peek(parser).at - 1, 2, '.')
    }
    const yes = parseChoice(parser)
    expect(parser, ':', 'and the other value of `? :`')
    const no = parseChoice(parser)
    count(parser, test.at)
    return { kind: 'choice', test, yes, no, at: test.at, end: no.end }
  })
}

function parseBinary(parser: Parser, least: number): Node {
  let left = parseUnary(parser)
  for (let chain = 0; ; chain++) {
    const token = peek(parser)
    const precedence = token.type === 'operator' || token.text === 'in' ? PRECEDENCE[token.text] : undefined
    if (precedence === undefined || precedence < least) return left
    if (chain >= CHAIN_MAX)
      throw new Fault(`more than ${CHAIN_MAX} operators in a row: use parentheses`, token.at, 1)
    take(parser)
    count(parser, token.at)
    const right = nested(parser, () => parseBinary(parser, precedence + 1))
    const span = { at: left.at, end: right.end }
    if (token.text === '||') left = { kind: 'or', left, right, ...span }
    else if (token.text === '&&') left = { kind: 'and', left, right, ...span }
    else left = { kind: 'binary', operator: token.text as BinaryOperator, left, right, ...span }
  }
}

function parseUnary(parser: Parser): Node {
  const token = peek(parser)
  if (token.type === 'operator' && (token.text === '!' || token.text === '-')) {
    take(parser)
    count(parser, token.at)
    const operand = nested(parser, () => parseUnary(parser))
    return { kind: token.text === '!' ? 'not' : 'negate', operand, at: token.at, end: operand.end }
  }
  return parseChain(parser, parsePrimary(parser))
}

function parseChain(parser: Parser, start: Node): Node {
  let node = start
  for (let chain = 0; ; chain++) {
    const token = peek(parser)
    if (chain >= CHAIN_MAX) throw new Fault(`more than ${CHAIN_MAX} steps in a path`, token.at, 1)
    if (accept(parser, '.') !== null) node = parseMember(parser, node)
    else if (accept(parser, '[') !== null) {
      count(parser, token.at)
      if (accept(parser, '*') !== null) {
        const end = expect(parser, ']', 'after `[*`').end
        const body = nested(parser, () => parseChain(parser, { kind: 'element', at: end, end }))
        return { kind: 'each', target: node, body, at: node.at, end: body.end }
      }
      const index = parseChoice(parser)
      node = {
        kind: 'index',
        target: node,
        index,
        at: node.at,
        end: expect(parser, ']', 'after the index').end,
      }
    } else return node
  }
}

function parseMember(parser: Parser, target: Node): Node {
  const name = take(parser)
  if (name.type !== 'name') {
    throw new Fault(
      "a field name is expected after `.`: for an unusual one write ['…']",
      name.at,
      name.end - name.at,
    )
  }
  count(parser, name.at)
  if (accept(parser, '(') === null)
    return { kind: 'member', target, name: name.text, at: target.at, end: name.end }
  const args = parseList(parser, ')', `in the arguments of \`${name.text}\``)
  const end = previousEnd(parser)
  if (MACROS.has(name.text)) return makeMacro(name, target, args, end)
  return { kind: 'call', name: name.text, nameAt: name.at, receiver: target, args, at: target.at, end }
}

function makeMacro(name: Token, target: Node, args: readonly Node[], end: number): Node {
  const [variable, ...body] = args
  const most = name.text === 'map' ? 2 : 1
  if (variable?.kind !== 'name' || body.length < 1 || body.length > most) {
    throw new Fault(
      `\`${name.text}\` takes a name and an expression: ${name.text}(x, …x…)`,
      name.at,
      end - name.at,
    )
  }
  if (variable.name === 'header') {
    throw new Fault('`header` cannot name an element: choose another name', variable.at, 6, 'h')
  }
  return {
    kind: 'macro',
    name: name.text as MacroName,
    target,
    variable: variable.name,
    body,
    at: target.at,
    end,
  }
}

function parsePrimary(parser: Parser): Node {
  const token = take(parser)
  const { at, end } = token
  count(parser, at)
  if (token.type === 'string' || token.type === 'number')
    return { kind: 'literal', value: token.value, at, end }
  if (token.type === 'name') return parseName(parser, token)
  if (token.text === '(') {
    const inner = parseChoice(parser)
    const close = expect(parser, ')', 'to close the parenthesis')
    return { ...inner, at, end: close.end }
  }
  if (token.text === '[') {
    const items = parseList(parser, ']', 'in the list')
    return { kind: 'list', items, at, end: previousEnd(parser) }
  }
  if (token.text === '{') return parseObject(parser, at)
  throw unexpected(
    parser.text,
    parser.tokens,
    token.type === 'end' ? parser.next : parser.next - 1,
    'expected a value',
  )
}

function parseName(parser: Parser, token: Token): Node {
  const { text, at, end } = token
  if (text === 'true' || text === 'false') return { kind: 'literal', value: text === 'true', at, end }
  if (text === 'null') return { kind: 'literal', value: null, at, end }
  if (text === 'in')
    throw unexpected(parser.text, parser.tokens, parser.next - 1, 'expected a value before `in`')
  if (accept(parser, '(') === null) return { kind: 'name', name: text, at, end }
  const args = parseList(parser, ')', `in the arguments of \`${text}\``)
  const close = previousEnd(parser)
  if (text !== 'has') return { kind: 'call', name: text, nameAt: at, receiver: null, args, at, end: close }
  const [target] = args
  if (args.length !== 1 || (target?.kind !== 'member' && target?.kind !== 'index')) {
    throw new Fault('`has` takes one field: has(payload.name)', at, close - at)
  }
  return { kind: 'has', target, at, end: close }
}

function parseList(parser: Parser, close: string, inside: string): readonly Node[] {
  const items: Node[] = []
  while (accept(parser, close) === null) {
    if (items.length > 0) {
      expect(parser, ',', `or \`${close}\` ${inside}`)
      if (close !== ')' && accept(parser, close) !== null) break
    }
    items.push(parseChoice(parser))
  }
  return items
}

function parseObject(parser: Parser, at: number): Node {
  const entries: MapEntry[] = []
  while (accept(parser, '}') === null) {
    if (entries.length > 0) {
      expect(parser, ',', 'or `}` in the map')
      if (accept(parser, '}') !== null) break
    }
    const key = parseChoice(parser)
    if (key.kind === 'literal' && typeof key.value !== 'string') {
      throw new Fault('keys of a map are texts', key.at, key.end - key.at, `'${String(key.value)}'`)
    }
    expect(parser, ':', 'after the key')
    entries.push({ key, value: parseChoice(parser) })
  }
  return { kind: 'object', entries, at, end: previousEnd(parser) }
}

function previousEnd(parser: Parser): number {
  return parser.tokens[parser.next - 1]?.end ?? 0
}
