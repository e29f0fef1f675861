// What the sources must not contain, each with the fix. The import rules are in .dependency-cruiser.cjs; this checks
// what an import graph cannot see. Pure: texts in, findings out.
import ts from 'typescript'
import { everyComment, everyNode, lineAt, parseSource, type Source, type TextFile } from './source.ts'

export interface Finding {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly fix: string
}

export function formatFinding({ path, line, rule, fix }: Finding): string {
  return `${path}:${line} ${rule} Fix: ${fix}`
}

interface Ban {
  readonly rule: string
  readonly fix: string
  readonly appliesTo: (path: string) => boolean
  /**
   * What a file must contain somewhere to break it: a text search is far quicker than parsing, and few files contain
   * it.
   */
  readonly words?: RegExp
  readonly matches: (node: ts.Node) => boolean
}

export const isTestCode = (path: string): boolean => /\.(test|conformance|fixture)\.ts$/.test(path)
const isPure = (path: string): boolean => /^src\/(core|engine)\//.test(path) && !isTestCode(path)
const isShipped = (path: string): boolean => path.startsWith('src/') && !isTestCode(path)
const isAnywhere = (): boolean => true

/** `a.b` written on the global `a`, also as `globalThis.a.b`. */
function isMember(node: ts.Node, owner: string, member: RegExp): boolean {
  if (!ts.isPropertyAccessExpression(node) || !member.test(node.name.text)) return false
  const { expression } = node
  if (ts.isIdentifier(expression)) return expression.text === owner
  return (
    ts.isPropertyAccessExpression(expression) &&
    expression.name.text === owner &&
    ts.isIdentifier(expression.expression) &&
    expression.expression.text === 'globalThis'
  )
}

/** A global by its bare name; `clock.setTimeout` and `{ fetch: … }` are other objects' members. */
function isGlobal(node: ts.Node, names: readonly string[]): boolean {
  if (!ts.isIdentifier(node) || !names.includes(node.text)) return false
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
    return ts.isIdentifier(parent.expression) && parent.expression.text === 'globalThis'
  }
  const isNameOfSomething =
    ts.isPropertyAssignment(parent) ||
    ts.isShorthandPropertyAssignment(parent) ||
    ts.isBindingElement(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isParameter(parent)
  return !(isNameOfSomething && (parent as { name?: ts.Node }).name === node)
}

const isAbsent = (argument: ts.Expression | undefined): boolean =>
  argument === undefined || (ts.isIdentifier(argument) && argument.text === 'undefined')

function callsWithoutLocale(node: ts.Node): boolean {
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    const callee = node.expression
    const first = node.arguments?.[0]
    if (isMember(callee, 'Intl', /^[A-Z]/)) return isAbsent(first)
    if (!ts.isPropertyAccessExpression(callee)) return false
    if (/^toLocale[A-Z]/.test(callee.name.text)) return isAbsent(first)
    return callee.name.text === 'localeCompare' && isAbsent(node.arguments?.[1])
  }
  return false
}

function moduleOf(node: ts.Node): string | undefined {
  if (!ts.isImportDeclaration(node) && !ts.isExportDeclaration(node)) return undefined
  const specifier = node.moduleSpecifier
  return specifier && ts.isStringLiteral(specifier) ? specifier.text : undefined
}

const isModule = (node: ts.Node, name: RegExp): boolean => name.test(moduleOf(node) ?? '')

/** Signing is by Ed25519 alone, which needs no randomness. */
const pureCrypto = new Set([
  'createHash',
  'createHmac',
  'createPrivateKey',
  'createPublicKey',
  'createSecretKey',
  'hash',
  'KeyObject',
  'sign',
  'timingSafeEqual',
  'verify',
])

/** Of node:crypto only what computes the same result for the same input. */
function importsImpureCrypto(node: ts.Node): boolean {
  if (!ts.isImportDeclaration(node) || !isModule(node, /^(node:)?crypto$/)) return false
  const clause = node.importClause
  if (clause === undefined) return true
  const bindings = clause.namedBindings
  if (clause.name !== undefined || bindings === undefined || ts.isNamespaceImport(bindings)) return true
  return bindings.elements.some(({ name, propertyName }) => !pureCrypto.has((propertyName ?? name).text))
}

/** Of Node's own network modules, what only listens or reads; types call nothing. */
const harmlessOfNetwork = new Set(['createServer', 'isIP', 'BlockList', 'STATUS_CODES'])
const network = /^(node:)?(net|tls|http|https|http2|dns|dns\/promises|dgram)$/

/** What could open a connection to another system. */
function dialsOut(node: ts.Node): boolean {
  if (isGlobal(node, ['fetch', 'WebSocket', 'EventSource'])) return true
  if (!ts.isImportDeclaration(node)) return false
  const clause = node.importClause
  if (clause?.isTypeOnly) return false
  if (isModule(node, /^(undici|ws|node-fetch|axios|got)$/)) return true
  if (!isModule(node, network)) return false
  const bindings = clause?.namedBindings
  if (clause?.name !== undefined || bindings === undefined || ts.isNamespaceImport(bindings)) return true
  return bindings.elements.some(
    ({ isTypeOnly, name, propertyName }) =>
      !isTypeOnly && !harmlessOfNetwork.has((propertyName ?? name).text),
  )
}

/**
 * The guard itself, clients that talk to a node from outside, the vault that its operator configured, and what keeps tests of definitions
 * off the network.
 */
const mayDial =
  /^src\/(?:(?:adapters\/(?:http-undici|mail-smtp|vault-hashicorp)|cli|demo|sdk\/client)\/|app\/testing\/network-guard\.ts$)/

const clockFix = 'take the time from the event in core, from the Clock port in engine.'
const chanceFix = 'take chance from the event in core, from the Random port in engine.'
const timerFix = 'return a wake-up as an effect in core, use the Clock port in engine.'
const ioFix = 'put the I/O behind a port in src/ports and let app.ts pass the adapter in.'

const bans: readonly Ban[] = [
  {
    rule: 'Date.now reads the clock.',
    fix: clockFix,
    appliesTo: isPure,
    matches: (node) => isMember(node, 'Date', /^now$/),
  },
  {
    rule: 'new Date() without an argument reads the clock.',
    fix: clockFix,
    appliesTo: isPure,
    matches: (node) =>
      (ts.isNewExpression(node) && isGlobal(node.expression, ['Date']) && !node.arguments?.length) ||
      (ts.isCallExpression(node) && isGlobal(node.expression, ['Date'])),
  },
  {
    rule: 'performance.now reads the clock.',
    fix: clockFix,
    appliesTo: isPure,
    matches: (node) => isMember(node, 'performance', /^(now|timeOrigin|mark|measure)$/),
  },
  {
    rule: 'Math.random is chance that no seed repeats.',
    fix: chanceFix,
    appliesTo: isPure,
    matches: (node) => isMember(node, 'Math', /^random$/),
  },
  {
    rule: 'crypto.random* is chance that no seed repeats.',
    fix: chanceFix,
    appliesTo: isPure,
    matches: (node) => isMember(node, 'crypto', /^(random|getRandomValues)/),
  },
  {
    rule: 'crypto.subtle answers asynchronously, in no fixed order.',
    fix: 'use hash, createHash, createHmac or timingSafeEqual of node:crypto.',
    appliesTo: isPure,
    matches: (node) => isMember(node, 'crypto', /^(subtle|webcrypto)$/),
  },
  {
    rule: 'Of node:crypto only hashes, HMACs, given keys, signatures by them and timingSafeEqual are pure.',
    fix: `import these by name; ${chanceFix}`,
    appliesTo: isPure,
    matches: importsImpureCrypto,
  },
  ...['setTimeout', 'setInterval', 'setImmediate'].map((name) => ({
    rule: `${name} waits on the real clock.`,
    fix: timerFix,
    appliesTo: isPure,
    matches: (node: ts.Node) => isGlobal(node, [name]),
  })),
  {
    rule: 'AbortSignal.timeout waits on the real clock.',
    fix: timerFix,
    appliesTo: isPure,
    matches: (node) => isMember(node, 'AbortSignal', /^timeout$/),
  },
  {
    rule: 'Streams schedule their own work.',
    fix: 'pass whole, bounded values; let the adapter stream.',
    appliesTo: isPure,
    matches: (node) =>
      isModule(node, /^(node:)?stream(\/|$)/) ||
      isGlobal(node, ['ReadableStream', 'WritableStream', 'TransformStream']),
  },
  {
    rule: 'Files are I/O.',
    fix: ioFix,
    appliesTo: isPure,
    matches: (node) => isModule(node, /^(node:)?fs(\/|$)/),
  },
  {
    rule: 'fetch is I/O.',
    fix: 'use the HttpClient port.',
    appliesTo: isPure,
    matches: (node) => isGlobal(node, ['fetch']),
  },
  {
    rule: 'import() loads code at a time nobody controls.',
    fix: 'import statically, or let app.ts load it and pass it in.',
    appliesTo: isPure,
    matches: (node) => ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword,
  },
  {
    rule: 'WeakRef and FinalizationRegistry follow the garbage collector.',
    fix: 'own the object and release it explicitly.',
    appliesTo: isPure,
    matches: (node) => isGlobal(node, ['WeakRef', 'FinalizationRegistry']),
  },
  {
    rule: 'The default locale differs between machines.',
    fix: "name the locale ('en'), or compare code units.",
    appliesTo: isPure,
    matches: callsWithoutLocale,
  },
  {
    rule: 'console writes past the log.',
    fix: 'return the fact as an effect in core, use the Log port in engine.',
    appliesTo: isPure,
    matches: (node) => isMember(node, 'console', /./),
  },
  {
    rule: 'process is the machine: its clock, its memory, its environment.',
    fix: 'pass the value in from src/config or app.ts.',
    appliesTo: isPure,
    matches: (node) => isMember(node, 'process', /^(?!env$)/),
  },
  {
    rule: 'process.env is read only in src/config.',
    fix: 'add the setting to src/config/schema.ts and pass the value in.',
    appliesTo: (path) => isShipped(path) && !path.startsWith('src/config/'),
    matches: (node) => isMember(node, 'process', /^env$/),
  },
  {
    rule: 'Only src/adapters/http-undici calls others: it is the guard that every call passes.',
    fix: 'ask for the HttpClient port.',
    appliesTo: (path) => isShipped(path) && !isPure(path) && !mayDial.test(path),
    matches: dialsOut,
  },
  {
    rule: 'export * hides what a folder offers.',
    fix: 'name each export.',
    appliesTo: isAnywhere,
    words: /\bexport\b[^'";{}()=]*\*/,
    matches: (node) =>
      ts.isExportDeclaration(node) &&
      (node.exportClause === undefined || ts.isNamespaceExport(node.exportClause)),
  },
]

const marker = /\b(FIXME|TODO|XXX)\b/

function findMarkers(source: Source): readonly Finding[] {
  if (!marker.test(source.text)) return []
  return everyComment(source).flatMap(({ position, text }) => {
    const match = marker.exec(text)
    if (match === null) return []
    return [
      {
        path: source.path,
        line: lineAt(source, position + match.index),
        rule: `${match[1]} promises work that nobody tracks.`,
        fix: 'do it now, or say in plain words what does not work.',
      },
    ]
  })
}

/** All findings in TypeScript and JavaScript sources. */
export function findBanned(files: readonly TextFile[]): readonly Finding[] {
  return files.flatMap((file) => {
    const active = bans.filter(
      ({ appliesTo, words }) => appliesTo(file.path) && (words === undefined || words.test(file.text)),
    )
    if (active.length === 0 && !marker.test(file.text)) return []
    const source = parseSource(file)
    const banned = everyNode(source).flatMap((node) =>
      active
        .filter(({ matches }) => matches(node))
        .map(({ rule, fix }) => ({
          path: source.path,
          line: lineAt(source, node.getStart(source.tree)),
          rule,
          fix,
        })),
    )
    return [...banned, ...findMarkers(source)]
  })
}
