// Reads source text for the tidy checks: syntax nodes, comments, test names. Parsing instead of searching keeps words
// in comments and strings from being mistaken for code, and the other way round.
import ts from 'typescript'

export interface TextFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string
  readonly text: string
}

export interface Source extends TextFile {
  readonly tree: ts.SourceFile
}

export function parseSource(file: TextFile): Source {
  return { ...file, tree: ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ES2023, true) }
}

export function lineAt(source: Source, position: number): number {
  return source.tree.getLineAndCharacterOfPosition(position).line + 1
}

export function everyNode(source: Source): readonly ts.Node[] {
  const nodes: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    nodes.push(node)
    ts.forEachChild(node, visit)
  }
  visit(source.tree)
  return nodes
}

export interface Comment {
  readonly position: number
  readonly text: string
}

/** Comments are what lies between the tokens; walking tokens keeps `//` in strings and templates out. */
export function everyComment(source: Source): readonly Comment[] {
  const found = new Map<number, Comment>()
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(source.tree)
    if (children.length > 0) {
      for (const child of children) visit(child)
      return
    }
    const ranges = [
      ...(ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []),
    ]
    const inside = ranges.filter(({ pos }) => pos < node.getStart(source.tree) || pos >= node.getEnd())
    for (const { pos, end } of inside) {
      found.set(pos, { position: pos, text: source.text.slice(pos, end) })
    }
  }
  visit(source.tree)
  return [...found.values()]
}

export interface Quote {
  readonly position: number
  readonly text: string
}

const testFunctions = new Set(['it', 'test', 'describe'])

/** The identifier a call starts with: `it` of `it.each(table)(name, fn)`. */
function rootOfCall(node: ts.Expression): string | undefined {
  if (ts.isIdentifier(node)) return node.text
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) return rootOfCall(node.expression)
  if (ts.isTaggedTemplateExpression(node)) return rootOfCall(node.tag)
  return undefined
}

function literalText(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isTemplateExpression(node)) return node.head.text
  return undefined
}

/** First arguments of `it`, `test` and `describe`, as far as they are literals. */
export function testNames(source: Source): readonly Quote[] {
  return everyNode(source).flatMap((node) => {
    if (!ts.isCallExpression(node) || !testFunctions.has(rootOfCall(node.expression) ?? '')) return []
    const first = node.arguments[0]
    const text = first && literalText(first)
    return first && text !== undefined ? [{ position: first.getStart(source.tree), text }] : []
  })
}

/** Every written string: test names may also come from tables. */
export function everyString(source: Source): readonly Quote[] {
  return everyNode(source).flatMap((node) => {
    const text = literalText(node)
    return text === undefined ? [] : [{ position: node.getStart(source.tree), text }]
  })
}
