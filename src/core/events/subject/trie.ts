// Finds the patterns that match a subject, without examining the others. Invariants: a search visits only nodes whose path
// matches the subject so far; nothing changes after building.

export interface TrieEntry<Value> {
  /** Valid by `parsePattern`. */
  readonly pattern: string
  readonly value: Value
}

export interface Trie<Value> {
  /** Values of the matching patterns, in the order of entry; a value that several patterns share appears once. */
  find(subject: string): readonly Value[]
  /** Whether a subject could match one of the patterns and this one too. */
  meets(pattern: string): boolean
}

interface Node {
  readonly literal: Map<string, Node>
  any: Node | null
  /** Entries that end here, and entries that end here in `>`. */
  readonly here: number[]
  readonly tail: number[]
}

export function makeTrie<Value>(entries: readonly TrieEntry<Value>[]): Trie<Value> {
  const values = entries.map((entry) => entry.value)
  const root = makeNode()
  for (const [index, entry] of entries.entries()) insert(root, entry.pattern.split('.'), index)
  return {
    find(subject) {
      const found: number[] = []
      collect(root, subject.split('.'), 0, found)
      if (found.length === 0) return []
      if (found.length === 1) return [values[found[0] as number] as Value]
      found.sort((a, b) => a - b)
      return [...new Set(found.map((index) => values[index] as Value))]
    },
    meets: (pattern) => meetsFrom(root, pattern.split('.'), 0),
  }
}

function makeNode(): Node {
  return { literal: new Map(), any: null, here: [], tail: [] }
}

function insert(root: Node, tokens: readonly string[], index: number): void {
  let node = root
  for (const token of tokens) {
    if (token === '>') {
      node.tail.push(index)
      return
    }
    node = token === '*' ? anyOf(node) : literalOf(node, token)
  }
  node.here.push(index)
}

function anyOf(node: Node): Node {
  node.any ??= makeNode()
  return node.any
}

function literalOf(node: Node, token: string): Node {
  const known = node.literal.get(token)
  if (known !== undefined) return known
  const made = makeNode()
  node.literal.set(token, made)
  return made
}

function collect(node: Node, tokens: readonly string[], depth: number, found: number[]): void {
  if (depth === tokens.length) {
    for (const index of node.here) found.push(index)
    return
  }
  for (const index of node.tail) found.push(index)
  const next = node.literal.get(tokens[depth] as string)
  if (next !== undefined) collect(next, tokens, depth + 1, found)
  if (node.any !== null) collect(node.any, tokens, depth + 1, found)
}

/** Every node leads to an entry, and is visited at most once: its depth is the position in the pattern. */
function meetsFrom(node: Node, tokens: readonly string[], depth: number): boolean {
  if (depth === tokens.length) return node.here.length > 0
  if (node.tail.length > 0) return true
  const token = tokens[depth] as string
  if (token === '>') return node.literal.size > 0 || node.any !== null
  if (node.any !== null && meetsFrom(node.any, tokens, depth + 1)) return true
  if (token !== '*') {
    const next = node.literal.get(token)
    return next !== undefined && meetsFrom(next, tokens, depth + 1)
  }
  for (const next of node.literal.values()) if (meetsFrom(next, tokens, depth + 1)) return true
  return false
}
